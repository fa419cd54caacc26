// An array and its chain: brush cells, and see in every array what they came from and went to.
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { ask, useAnswer } from "./ask";
import { drawArray, fitAll, plane, scales, type Box, type Layer, type Window } from "./heatmap";
import { Facts, Slow, Superset, Waiting, save, useDark, useSize } from "./parts";
import { go, link, numberAt, place } from "./place";
import { fitted, theme } from "./theme";
import { count, counted, plain, short, sides, size as bytes, took, when } from "./words";

interface Member {
  name: string;
  kind: string;
  shape: number[];
  values: boolean;
  /** Those of the chain that it was made from. */
  from: string[];
}
interface ArrayFacts extends Omit<Member, "values" | "from"> {
  created: string | null;
  by: string | null;
  note: string | null;
  made: { id: string; name: string; inputs: string[] }[];
  derived: { input: string; tuples: number; boxes: number; size: number }[];
  chain: Member[];
  unread: string | null;
  values: null | { low: number; high: number; counts: number[]; not_finite: number; sampled: number; of: number; dtype: string; preview: null | { sides: number[]; exact: boolean } };
}
interface Cells {
  name: string;
  shape: number[];
  count: number;
  boxes: Box[];
  step: number[];
  text: string;
}
interface Lineage {
  asked: Cells & { backward_ms: number; forward_ms: number; precise: boolean; reason: string | null };
  backward: Cells[];
  forward: Cells[];
  backward_steps: Step[];
  forward_steps: Step[];
  people: string[];
  commits: string[];
  notes: string[];
}
interface Step {
  dataset: string;
  previous: string;
  activity: string | null;
  count: number;
  how: string;
  reason: string | null;
}

interface Tile {
  sides: number[];
  cells: number;
  least: number | string;
  mean: number | string;
  most: number | string;
  not_finite: number;
}

const EXAMPLES = ["...", "0:3", "0,:   or   2:5,0"]; // of what may be asked, by the number of axes
const SHOWS: [string, string][] = [["max", "greatest"], ["mean", "mean"], ["min", "least"]];
const number = (value: unknown): string => (typeof value === "number" ? short(value) : String(value));
const told = (tile: Tile): string => `${number(tile.least)} to ${number(tile.most)}, mean ${number(tile.mean)}, of ${counted(tile.cells, "cell")}${tile.not_finite ? `, ${count(tile.not_finite)} not finite` : ""}`;

/** The plane of an array of many axes that is drawn unless one is chosen: the first with cells of the lineage. */
function firstPlane(name: string, shape: number[], lineage: Lineage | undefined): number[] {
  const known = lineage ? [lineage.asked, ...lineage.backward, ...lineage.forward].find((each) => each.name === name && each.boxes.length) : undefined;
  return shape.slice(0, -2).map((_, axis) => known?.boxes[0]?.[axis]?.[0] ?? 0);
}

function fixed(name: string, shape: number[], lineage: Lineage | undefined): number[] {
  const given = (place.value.at ?? "").split(",").filter(Boolean).map(Number);
  return firstPlane(name, shape, lineage).map((first, axis) => Math.min(shape[axis]! - 1, Math.max(0, given.length ? given[axis] || 0 : first)));
}

function layersOf(name: string, lineage: Lineage | undefined, colours: { from: string; to: string; ink: string }): Layer[] {
  if (!lineage) return [];
  const found: Layer[] = [];
  const back = lineage.backward.find((each) => each.name === name);
  const forth = lineage.forward.find((each) => each.name === name);
  if (back?.count) found.push({ boxes: back.boxes, colour: colours.from, fill: 0.7 });
  if (forth?.count) found.push({ boxes: forth.boxes, colour: colours.to, fill: 0.7 });
  if (lineage.asked.name === name) found.push({ boxes: lineage.asked.boxes, colour: colours.ink, fill: 0.35 });
  return found;
}

export function ArrayView() {
  const here = place.value;
  const look = here.look ?? here.name!;
  const facts = useAnswer<ArrayFacts>("array", { name: look });
  const lineage = useAnswer<Lineage>("lineage", here.cells ? { name: here.name, cells: here.cells } : null);
  const found = facts.data;
  return (
    <main class="split">
      <section class="stage" aria-label="Array">
        <h1 class="sr">Array {plain(look)}</h1>
        <Waiting asked={facts}>{found ? <Chain facts={found} look={found.name} lineage={lineage.data} /> : null}</Waiting>
        {found ? <Large facts={found} lineage={lineage.data} loading={lineage.loading} /> : null}
        {lineage.error ? <div class="note bad" role="alert"><b>No answer.</b> {plain(lineage.error)}</div> : null}
      </section>
      <aside class="side" aria-label="Details">
        {found ? <Side facts={found} lineage={lineage.data} /> : null}
      </aside>
    </main>
  );
}

function Chain({ facts, look, lineage }: { facts: ArrayFacts; look: string; lineage?: Lineage }) {
  const at = facts.chain.findIndex((each) => each.name === look);
  const step = (by: number) => facts.chain[at + by];
  // An arrow says that one was made from the one beside it; in a chain that branches, words say from which.
  const isNext = (index: number) => index > 0 && facts.chain[index]!.from.includes(facts.chain[index - 1]!.name);
  const branches = facts.chain.some((each, index) => index > 0 && (!isNext(index) || each.from.length > 1));
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const shown = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (shown) list.current!.scrollLeft = shown.parentElement!.offsetLeft - (list.current!.clientWidth - shown.offsetWidth) / 2;
  }, [look, facts.chain.length]);
  return (
    <nav class="chain" aria-label="Chain">
      <button type="button" aria-label="Earlier in the chain" disabled={!step(-1)} onClick={() => go({ look: step(-1)!.name, name: place.value.name ?? look, at: undefined })}>{"\u2190"}</button>
      <ol ref={list}>
        {facts.chain.map((each, index) => (
          <li key={each.name} class={isNext(index) ? "next" : undefined}>
            <a aria-current={each.name === look ? "true" : undefined} {...link({ look: each.name, name: place.value.name ?? look, at: undefined, x: undefined, y: undefined, k: undefined }, false)}>
              <Small member={each} lineage={lineage} />
              <b title={plain(each.name)}>{plain(each.name)}</b>
              <small><Tally name={each.name} lineage={lineage} otherwise={sides(each.shape)} /></small>
              {branches ? <small class="origin" title={each.from.map(plain).join(", ")}>{each.from.length ? `from ${each.from.map(plain).join(", ")}` : "a source"}</small> : null}
            </a>
          </li>
        ))}
      </ol>
      <button type="button" aria-label="Later in the chain" disabled={!step(1)} onClick={() => go({ look: step(1)!.name, name: place.value.name ?? look, at: undefined })}>{"\u2192"}</button>
    </nav>
  );
}

function Tally({ name, lineage, otherwise }: { name: string; lineage?: Lineage; otherwise: string }) {
  if (!lineage) return <>{otherwise}</>;
  if (lineage.asked.name === name) return <span class="asked">{counted(lineage.asked.count, "cell")} asked</span>;
  const back = lineage.backward.find((each) => each.name === name);
  const forth = lineage.forward.find((each) => each.name === name);
  if (!back && !forth) return <>{otherwise}</>;
  return <>{back ? <span class="from">{counted(back.count, "source cell")}</span> : null}{forth ? <span class="to">{counted(forth.count, "cell")} reached</span> : null}</>;
}

function Small({ member, lineage }: { member: Member; lineage?: Lineage }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [turn, again] = useReducer((n: number) => n + 1, 0);
  const dark = useDark();
  useEffect(() => {
    if (!canvas.current) return;
    const size = { width: 132, height: 72 };
    const pen = fitted(canvas.current, size.width, size.height);
    const colours = theme(canvas.current);
    drawArray(pen, size, { ...member, at: firstPlane(member.name, member.shape, lineage) }, fitAll(member.shape, size.width, size.height, 4), layersOf(member.name, lineage, colours), colours, dark, () => again(0));
  }, [member, lineage, turn, dark]);
  return <canvas ref={canvas} class="small" aria-hidden="true" />;
}

function Large({ facts, lineage, loading }: { facts: ArrayFacts; lineage?: Lineage; loading: boolean }) {
  const here = place.value;
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [turn, again] = useReducer((n: number) => n + 1, 0);
  const [pan, setPan] = useState(false);
  const [hover, setHover] = useState<{ row: number; column: number; x: number; y: number; value?: string } | null>(null);
  const [brush, setBrush] = useState<[number, number, number, number] | null>(null);
  const drag = useRef<null | { row: number; column: number; x: number; y: number; view: Window; pan: boolean }>(null);
  const dark = useDark();
  const shape = facts.shape;
  const [rows, columns] = plane(shape);
  const at = fixed(facts.name, shape, lineage);
  const tiled = facts.values?.preview && !facts.values.preview.exact ? facts.values.preview : null;
  const fit = size.width ? fitAll(shape, size.width, size.height, 16, 40) : { x: 0, y: 0, k: 1 };
  const given = numberAt("k");
  const view: Window = given !== undefined && given > 0 ? { k: given, x: numberAt("x") ?? 0, y: numberAt("y") ?? 0 } : fit;
  const [kx, ky] = scales(shape, view.k, size.height);
  const setView = (next: Window) => go({ k: next.k.toPrecision(6), x: next.x.toFixed(2), y: next.y.toFixed(2) }, { replace: true });

  const boxOf = (b: [number, number, number, number]): Box => {
    if (shape.length < 2) return shape.length ? [[b[2], b[3]]] : [];
    return [...shape.slice(0, -2).map((_, axis): [number, number] => [at[axis] ?? 0, at[axis] ?? 0]), [b[0], b[1]], [b[2], b[3]]];
  };
  useEffect(() => {
    if (!canvas.current || !size.width) return;
    const pen = fitted(canvas.current, size.width, size.height);
    const colours = theme(canvas.current);
    const layers = layersOf(facts.name, lineage, colours);
    if (brush) layers.push({ boxes: [boxOf(brush)], colour: colours.ink, fill: 0.25 });
    drawArray(pen, size, { name: facts.name, shape, values: facts.values !== null, at, show: here.show }, view, layers, colours, dark, () => again(0));
  }, [facts, lineage, view.x, view.y, view.k, size, brush, turn, dark, at.join(), here.show]);

  const cellAt = (event: PointerEvent | WheelEvent): [number, number, number, number] => {
    const rect = box.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - rect.left, event.clientY - rect.top];
    return [Math.floor(view.y + y / ky), Math.floor(view.x + x / kx), x, y];
  };
  const inside = (row: number, column: number) => row >= 0 && column >= 0 && row < rows && column < columns;
  const clamp = (row: number, column: number): [number, number] => [Math.min(rows - 1, Math.max(0, row)), Math.min(columns - 1, Math.max(0, column))];
  const spell = (low: number, high: number, side: number) => (low === 0 && high === side - 1 ? ":" : low === high ? `${low}` : `${low}:${high + 1}`);
  const text = (b: [number, number, number, number]) => {
    if (shape.length === 0) return "...";
    if (shape.length === 1) return spell(b[2], b[3], columns);
    return [...shape.slice(0, -2).map((_, axis) => String(at[axis] ?? 0)), spell(b[0], b[1], rows), spell(b[2], b[3], columns)].join(",");
  };
  const index = (row: number, column: number) => text([row, row, column, column]).replace(/:/g, "0");
  const zoom = (by: number, x = size.width / 2, y = size.height / 2) => {
    const k = Math.min(96, Math.max(fit.k / 2, view.k * by));
    const [nextX, nextY] = scales(shape, k, size.height);
    setView({ k, x: view.x + x / kx - x / nextX, y: view.y + y / ky - y / nextY });
  };
  const timer = useRef(0);
  useEffect(() => {
    clearTimeout(timer.current);
    if (!hover || !facts.values || hover.value !== undefined) return;
    timer.current = window.setTimeout(() => {
      ask<{ value: unknown; tile?: Tile }>("value", { name: facts.name, cell: index(hover.row, hover.column) }).then(
        (found) => setHover((now) => (now && now.row === hover.row && now.column === hover.column ? { ...now, value: found.tile ? told(found.tile) : number(found.value) } : now)),
        () => undefined,
      );
    }, 60);
  }, [hover?.row, hover?.column]);

  return (
    <>
      <form class="filters" onSubmit={(event) => {
        event.preventDefault();
        go({ name: facts.name, look: facts.name, cells: new FormData(event.currentTarget).get("cells") as string });
      }}>
        <label class="grow">cells of <b>{plain(facts.name)}</b> <input name="cells" key={`${facts.name}${here.cells}`} defaultValue={here.name === facts.name || !here.look ? (here.cells ?? "") : ""} placeholder={EXAMPLES[shape.length] ?? `${shape.slice(2).map(() => "0,").join("")}2:5,0`} spellcheck={false} autocomplete="off" /></label>
        <button type="submit" class="main">Ask</button>
        {here.cells ? <button type="button" class="plain" onClick={() => go({ cells: undefined })}>Clear</button> : null}
        {shape.slice(0, -2).map((side, axis) => (
          <label key={axis}>axis {axis} <input type="range" min="0" max={side - 1} value={at[axis] ?? 0} onInput={(event) => {
            const next = [...at];
            next[axis] = Number(event.currentTarget.value);
            go({ at: next.join(",") }, { replace: true });
          }} /><output>{at[axis] ?? 0}</output></label>
        ))}
      </form>
      <div
        class={`canvas heat${pan ? " pan" : ""}`}
        ref={box}
        onWheel={(event) => {
          event.preventDefault();
          const [, , x, y] = cellAt(event);
          zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, x, y);
        }}
        onPointerDown={(event) => {
          if ((event.target as Element).closest("button")) return;
          const [row, column, x, y] = cellAt(event);
          drag.current = { row, column, x, y, view, pan: pan || event.shiftKey || event.button === 1 };
          box.current!.setPointerCapture(event.pointerId);
          if (!drag.current.pan && inside(row, column)) setBrush([row, row, column, column]);
        }}
        onPointerMove={(event) => {
          const [row, column, x, y] = cellAt(event);
          const from = drag.current;
          if (from?.pan) setView({ k: from.view.k, x: from.view.x - (x - from.x) / kx, y: from.view.y - (y - from.y) / ky });
          else if (from && rows && columns) {
            const [[r0, c0], [r1, c1]] = [clamp(from.row, from.column), clamp(row, column)];
            setBrush([Math.min(r0, r1), Math.max(r0, r1), Math.min(c0, c1), Math.max(c0, c1)]);
          }
          setHover((old) => (!inside(row, column) ? null : old && old.row === row && old.column === column ? { ...old, x, y } : { row, column, x, y }));
        }}
        onPointerLeave={() => setHover(null)}
        onPointerUp={() => {
          if (drag.current && !drag.current.pan && brush) go({ name: facts.name, look: facts.name, cells: text(brush) });
          drag.current = null;
          setBrush(null);
        }}
      >
        <canvas ref={canvas} role="img" aria-label={plain(`${facts.name}, ${sides(shape)}${facts.values ? "" : ", values not at hand"}`)} data-k={kx} data-ky={ky} data-x={view.x} data-y={view.y} />
        {rows && columns ? null : <p class="nothing">{plain(facts.name)} has no cells.</p>}
        {loading ? <span class="bar over" role="status" aria-label="Asking the log" /> : null}
        {loading ? <p class="badge top"><Slow /></p> : null}
        {tiled ? <p class="badge">preview, in tiles of {sides(tiled.sides)} cells</p> : facts.values?.preview ? <p class="badge">preview</p> : null}
        {hover ? <div class="tip" style={{ left: `${Math.max(4, Math.min(hover.x + 14, size.width - (tiled ? 430 : 150)))}px`, top: `${hover.y + 14}px` }}><b>{plain(facts.name)}[{index(hover.row, hover.column)}]</b>{facts.values ? <span>{hover.value ?? "..."}</span> : null}</div> : null}
        <div class="tools" role="toolbar" aria-label="Array">
          {tiled ? <select aria-label="Shown of each tile" value={here.show ?? "max"} onChange={(event) => go({ show: event.currentTarget.value === "max" ? undefined : event.currentTarget.value }, { replace: true })}>{SHOWS.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select> : null}
          <button type="button" aria-pressed={!pan} onClick={() => setPan(false)}>Brush</button>
          <button type="button" aria-pressed={pan} onClick={() => setPan(true)}>Move</button>
          <button type="button" aria-label="Zoom in" onClick={() => zoom(1.5)}>+</button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.5)}>{"\u2212"}</button>
          <button type="button" onClick={() => go({ k: undefined, x: undefined, y: undefined }, { replace: true })}>Fit</button>
        </div>
      </div>
      <footer class="under">
        <ul class="legend" aria-label="Legend"><li><i class="k asked" />asked</li><li><i class="k from" />came from</li><li><i class="k to" />went to</li>{facts.values?.not_finite ? <li><i class="k lost" />not finite</li> : null}{facts.values && !facts.values.preview && kx < 0.9 ? <li class="time">one pixel is {counted(2 ** Math.ceil(Math.log2(1 / kx)) * Math.max(1, 2 ** Math.ceil(Math.log2(1 / ky))), "cell")}, of which the first is shown</li> : null}</ul>
        <p>{facts.values ? null : facts.unread ? <span class="warn">Its shape is drawn: {plain(facts.unread)}</span> : <>Values are not at hand, so its shape is drawn: <code>whence ui --values {plain(facts.name)}=FILE.npy</code>, or save a preview: <code>log.array("{plain(facts.name)}", array, preview=True)</code></>}</p>
      </footer>
    </>
  );
}

function Histogram({ values }: { values: NonNullable<ArrayFacts["values"]> }) {
  const most = Math.max(...values.counts, 1);
  const whose = values.sampled < values.of ? `of ${count(values.sampled)} cells, taken at equal distances` : `of all ${count(values.of)} cells`;
  return (
    <figure class="histogram">
      <svg viewBox={`0 0 ${values.counts.length * 5} 60`} preserveAspectRatio="none" role="img" aria-label={`Histogram ${whose}`}>
        {values.counts.map((each, at) => <rect key={at} x={at * 5} y={60 - (58 * each) / most} width="4" height={(58 * each) / most} />)}
      </svg>
      <figcaption><span>{short(values.low)}</span><span>{whose}{values.not_finite ? `; ${count(values.not_finite)} not finite` : ""}</span><span>{short(values.high)}</span></figcaption>
    </figure>
  );
}

function Side({ facts, lineage }: { facts: ArrayFacts; lineage?: Lineage }) {
  const ways: [string, string, Cells[]][] = lineage ? [["from", "Came from", lineage.backward], ["to", "Went to", lineage.forward]] : [];
  return (
    <>
      {lineage ? (
        <div class="card answer">
          <p class="kind">answer</p>
          <h2><span class="asked">{plain(lineage.asked.name)}[{plain(lineage.asked.text)}]</span></h2>
          <p class="faint">{counted(lineage.asked.count, "cell")}; {lineage.asked.precise ? "exact" : "not exact"}, in {took(lineage.asked.backward_ms + lineage.asked.forward_ms)}</p>
          <Superset precise={lineage.asked.precise} reason={lineage.asked.reason} />
          {ways.map(([kind, title, found]) => (
            <section key={kind}>
              <h3 class={kind}>{title}</h3>
              {found.length ? <ul class="list">{found.map((each) => <li key={each.name}><a {...link({ look: each.name, at: undefined, x: undefined, y: undefined, k: undefined }, false)}>{plain(each.name)}</a><b>{counted(each.count, "cell")}</b><small>{plain(each.text)}{each.step.some((step) => step > 1) ? " (drawn coarsely)" : ""}</small></li>)}</ul> : <p class="faint">{kind === "from" ? "Nothing is known of how it was made." : "Nothing was made of it."}</p>}
            </section>
          ))}
          {lineage.backward_steps.length || lineage.forward_steps.length ? (
            <details>
              <summary>{counted(lineage.backward_steps.length + lineage.forward_steps.length, "step")}</summary>
              <ol class="list">{[...lineage.backward_steps, ...lineage.forward_steps].map((step, at) => <li key={at}>{plain(step.previous)} {"\u2192"} {plain(step.dataset)}{step.activity ? <small>by <a {...link({ id: step.activity })}>{plain(step.activity)}</a></small> : null}<b>{counted(step.count, "cell")}</b><small>{plain(step.reason ?? step.how)}</small></li>)}</ol>
            </details>
          ) : null}
          {lineage.people.length ? <p class="faint">By {lineage.people.map(plain).join(", ")}{lineage.commits.length ? `; commits ${lineage.commits.map((each) => plain(each.slice(0, 12))).join(", ")}` : ""}</p> : null}
          {lineage.notes.map((each) => <p key={each} class="note">{plain(each)}</p>)}
          <div class="row">
            <a class="main" {...link({ view: "story", name: lineage.asked.name, cells: place.value.cells })}>Tell the story</a>
            <button type="button" onClick={() => save("lineage.json", "application/json", JSON.stringify(lineage, null, 1))}>JSON</button>
            <button type="button" onClick={() => save("lineage.csv", "text/csv", csv(lineage))}>CSV</button>
          </div>
        </div>
      ) : null}
      <div class="card">
        <p class="kind">{facts.kind}</p>
        <h2>{plain(facts.name)}</h2>
        {facts.kind === "table" ? <div class="row"><a class="main" {...link({ view: "table", name: facts.name })}>Open as table</a></div> : null}
        {facts.values?.of ? <Histogram values={facts.values} /> : null}
        <Facts of={[["shape", sides(facts.shape)], ["made", when(facts.created)], ["by", facts.by ?? ""], ["values", facts.values ? `${facts.values.dtype}${facts.values.of ? "" : ", none"}${facts.values.of ? `, ${short(facts.values.low)} to ${short(facts.values.high)}` : ""}${facts.values.preview ? "; a preview, saved in the log" : ""}` : "not at hand"], ["note", facts.note ?? ""]]} />
        {facts.made.map((each) => <p key={each.id}>Made by <a {...link({ id: each.id })}>{plain(each.id)}</a>{each.inputs.length ? <> from {each.inputs.map(plain).join(", ")}</> : null}.</p>)}
        {facts.derived.length ? (
          <section>
            <h3>Lineage that is stored</h3>
            <ul class="list">{facts.derived.map((each) => <li key={each.input}>{plain(each.input)}<b>{counted(each.tuples, "tuple")}</b><small>in {counted(each.boxes, "box", "boxes")}, {bytes(each.size)}</small></li>)}</ul>
          </section>
        ) : null}
        {lineage ? null : <p class="faint">Drag over cells, or write them above: what they came from and went to is marked in every array of the chain.</p>}
      </div>
    </>
  );
}

function csv(lineage: Lineage): string {
  const quoted = (text: string) => `"${text.replace(/"/g, '""')}"`;
  const rows = [["way", "dataset", "cells", "boxes", "rounded outwards to"].join(",")];
  for (const [way, found] of [["asked", [lineage.asked]], ["came from", lineage.backward], ["went to", lineage.forward]] as const) {
    for (const each of found) rows.push([way, quoted(each.name), String(each.count), quoted(each.boxes.map((box) => box.map(([low, high]) => (low === high ? low : `${low}:${high + 1}`)).join(",")).join(" ")), quoted(each.step.some((step) => step > 1) ? each.step.join(",") : "")].join(","));
  }
  return `${rows.join("\n")}\n`;
}
