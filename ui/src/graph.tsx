// A graph that the server laid out: drawn on a canvas, with a button over each node so that keyboards reach it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Minimap } from "./minimap";
import { save, saveAsPng, useDark, useSize } from "./parts";
import { go, numberAt } from "./place";
import { fitted, theme, type Theme } from "./theme";
import { plain } from "./words";

export interface GraphNode {
  kind: "entity" | "activity" | "agent";
  label: string;
  note: string;
  title: string;
  count: number;
  strong: boolean;
  failed: boolean;
  ids: string[];
  x: number;
  y: number;
  w: number;
  h: number;
}
export interface GraphLine {
  source: number;
  target: number;
  relation: string;
  weight: number;
  label: string;
  points: number[];
}
export interface Picture {
  nodes: GraphNode[];
  lines: GraphLine[];
  width: number;
  height: number;
}
export interface View {
  x: number;
  y: number;
  k: number;
}

const TOOLS = 40; // what the buttons below the picture cover
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";

function shape(pen: CanvasRenderingContext2D, node: GraphNode, grow: number): void {
  const w = node.w + grow;
  const h = node.h + grow;
  pen.beginPath();
  pen.roundRect(node.x - w / 2, node.y - h / 2, w, h, node.kind === "entity" ? h / 2 : 7);
}

function cut(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}\u2026`).width > width) end -= 1;
  return `${text.slice(0, end)}\u2026`;
}

export function draw(pen: CanvasRenderingContext2D, picture: Picture, colours: Theme, hot: Set<number>, chosen: number): void {
  const dim = hot.size > 0;
  pen.lineJoin = "round";
  for (const line of picture.lines) {
    const on = !dim || (hot.has(line.source) && hot.has(line.target));
    const p = line.points;
    const colour = lineOf(line, colours);
    pen.globalAlpha = on ? 0.9 : 0.15;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 1.2 + 2.4 * line.weight;
    pen.beginPath();
    pen.moveTo(p[0]!, p[1]!);
    for (let i = 2; i + 5 < p.length; i += 6) pen.bezierCurveTo(p[i]!, p[i + 1]!, p[i + 2]!, p[i + 3]!, p[i + 4]!, p[i + 5]!);
    pen.stroke();
    // The arrow says which way data went: out of what was used, into what was made.
    const backwards = p[0]! >= p[p.length - 2]!;
    pen.beginPath();
    pen.moveTo(p[0]!, p[1]!);
    const side = backwards ? -1 : 1;
    pen.lineTo(p[0]! + 8 * side, p[1]! - 4);
    pen.lineTo(p[0]! + 8 * side, p[1]! + 4);
    pen.closePath();
    pen.fill();
    const words = beside(line);
    if (words) {
      pen.font = `11px ${FONT}`;
      pen.textAlign = "center";
      pen.lineWidth = 4;
      pen.strokeStyle = colours.card;
      pen.strokeText(line.label, ...words);
      pen.fillText(line.label, ...words);
    }
  }
  picture.nodes.forEach((node, at) => {
    pen.globalAlpha = !dim || hot.has(at) ? 1 : 0.3;
    const [fill, outline] = lookOf(node, colours);
    if (node.count > 1) {
      // A stack of cards: this one stands for several.
      pen.fillStyle = colours.card;
      pen.strokeStyle = outline;
      pen.lineWidth = 1;
      pen.save();
      pen.translate(4, 4);
      shape(pen, node, 0);
      pen.fill();
      pen.stroke();
      pen.restore();
    }
    shape(pen, node, 0);
    pen.fillStyle = fill;
    pen.strokeStyle = outline;
    pen.setLineDash(node.failed ? [5, 3] : []);
    pen.lineWidth = node.strong ? 2.5 : 1.2;
    pen.fill();
    pen.stroke();
    pen.setLineDash([]);
    if (at === chosen) {
      shape(pen, node, 8);
      pen.strokeStyle = colours.focus;
      pen.lineWidth = 2.5;
      pen.stroke();
    }
    pen.textAlign = "center";
    pen.fillStyle = colours.ink;
    pen.font = `500 12.5px ${FONT}`;
    pen.fillText(cut(pen, plain(node.label), node.w - 14), node.x, node.y + (node.note ? -2 : 4));
    if (node.note) {
      pen.fillStyle = node.failed ? colours.badLine : colours.faint;
      pen.font = `11px ${FONT}`;
      pen.fillText(cut(pen, plain(node.note), node.w - 14), node.x, node.y + 13);
    }
  });
  pen.globalAlpha = 1;
}

function around(picture: Picture, at: number): Set<number> {
  const found = new Set([at]);
  for (const line of picture.lines) {
    if (line.source === at) found.add(line.target);
    if (line.target === at) found.add(line.source);
  }
  return found;
}

export function Graph({ picture, label, words = THINGS, kept, chosen, marked, onChoose, onOpen }: {
  picture: Picture;
  words?: Words;
  /** Whether how it is zoomed and moved is part of the place. */
  kept?: boolean;
  /** Nodes that stand out while none is hovered. */
  marked?: Set<number>;
  label: string;
  chosen: (node: GraphNode) => boolean;
  onChoose: (node: GraphNode) => void;
  onOpen?: (node: GraphNode) => void;
}) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [local, setLocal] = useState<View | null>(null);
  const [over, setOver] = useState(-1);
  const dark = useDark();
  const whole = useMemo<View>(() => {
    const height = size.height - TOOLS;
    const k = Math.min(size.width / (picture.width + 24), height / (picture.height + 24), 1.25);
    return { k, x: (size.width - picture.width * k) / 2, y: (height - picture.height * k) / 2 };
  }, [picture, size.width, size.height]);
  const fit = useMemo<View>(() => {
    if (!size.width) return { x: 0, y: 0, k: 1 };
    // A picture that is too wide to be read when it fits starts at its right end, where the latest results are.
    // The map beside it shows the rest.
    const k = whole.k >= 0.78 ? whole.k : 0.95;
    const wide = picture.width * k;
    const spare = size.height - TOOLS - picture.height * k;
    const last = picture.nodes.reduce((best, node) => (best && best.x >= node.x ? best : node), picture.nodes[0])?.y ?? 0;
    const y = spare >= 24 ? spare / 2 : Math.min(12, Math.max(spare - 12, (size.height - TOOLS) / 2 - last * k));
    return { x: wide <= size.width - 16 ? (size.width - wide) / 2 : size.width - wide - 16, y, k };
  }, [picture, whole]);
  // The place holds the point of the picture in the middle, so that it means the same in a window of another size.
  const [scale, middle, level] = [numberAt("k"), numberAt("x") ?? 0, numberAt("y") ?? 0];
  const given = useMemo<View | null>(() => (kept && scale !== undefined && scale > 0 && size.width ? { k: scale, x: size.width / 2 - middle * scale, y: size.height / 2 - level * scale } : null), [kept, scale, middle, level, size.width, size.height]);
  const now = given ?? local ?? fit;
  const setView = (next: View | null) => {
    setLocal(next);
    if (kept) go(next ? { k: next.k.toPrecision(5), x: ((size.width / 2 - next.x) / next.k).toFixed(1), y: ((size.height / 2 - next.y) / next.k).toFixed(1) } : { k: undefined, x: undefined, y: undefined }, { replace: true });
  };
  const at = picture.nodes.findIndex(chosen);
  useEffect(() => {
    if (!canvas.current || !box.current || !size.width) return;
    const pen = fitted(canvas.current, size.width, size.height);
    pen.translate(now.x, now.y);
    pen.scale(now.k, now.k);
    draw(pen, picture, theme(box.current), over >= 0 ? around(picture, over) : (marked ?? new Set()), at);
  }, [picture, now, size, over, at, dark, marked]);

  // What was chosen elsewhere (by a link, or while a journey plays) is moved into view; a new picture starts anew.
  const drawn = useRef(picture);
  useEffect(() => {
    const moved = drawn.current === picture ? local : null;
    const from = given ?? moved ?? fit;
    drawn.current = picture;
    const node = picture.nodes[at];
    const [x, y] = node ? [from.x + node.x * from.k, from.y + node.y * from.k] : [0, 0];
    const [w, h] = node ? [(node.w * from.k) / 2, (node.h * from.k) / 2] : [0, 0];
    const seen = !node || !size.width || (x - w >= 0 && x + w <= size.width && y - h >= 0 && y + h <= size.height);
    setLocal(seen || given ? moved : { k: from.k, x: from.x + size.width / 2 - x, y: from.y + size.height / 2 - y });
  }, [at, picture, size.width, size.height]);

  const zoom = (by: number, x = size.width / 2, y = size.height / 2) => {
    const k = Math.min(3, Math.max(0.1, now.k * by));
    setView({ k, x: x - ((x - now.x) * k) / now.k, y: y - ((y - now.y) * k) / now.k });
  };
  const drag = useRef<{ x: number; y: number; view: View } | null>(null);
  return (
    <div
      class="graph"
      ref={box}
      onWheel={(event) => {
        event.preventDefault();
        const rect = box.current!.getBoundingClientRect();
        if (event.ctrlKey || event.deltaMode || Math.abs(event.deltaY) >= 40) zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - rect.left, event.clientY - rect.top);
        else setView({ ...now, x: now.x - event.deltaX, y: now.y - event.deltaY });
      }}
      onPointerDown={(event) => {
        if ((event.target as Element).closest("button")) return;
        drag.current = { x: event.clientX, y: event.clientY, view: now };
        box.current!.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const from = drag.current;
        if (from) setView({ ...from.view, x: from.view.x + event.clientX - from.x, y: from.view.y + event.clientY - from.y });
      }}
      onPointerUp={() => (drag.current = null)}
    >
      <canvas ref={canvas} aria-hidden="true" />
      <div class="nodes" role="group" aria-label={label} style={{ transform: `translate(${now.x}px, ${now.y}px) scale(${now.k})` }}>
        {picture.nodes.map((node, number) => (
          <button
            key={number}
            type="button"
            class={`node ${node.kind}`}
            data-ids={node.ids[0]}
            aria-pressed={number === at}
            aria-label={plain(`${node.label}${node.note ? `, ${node.note}` : ""}, ${node.kind}`)}
            title={plain(node.title.split("\n")[0]!)}
            style={{ left: `${node.x - node.w / 2}px`, top: `${node.y - node.h / 2}px`, width: `${node.w}px`, height: `${node.h}px` }}
            onMouseEnter={() => setOver(number)}
            onMouseLeave={() => setOver(-1)}
            onFocus={() => setOver(number)}
            onBlur={() => setOver(-1)}
            onClick={() => onChoose(node)}
            onDblClick={() => onOpen?.(node)}
            onKeyDown={(event) => {
              if (event.key === "o" && onOpen) onOpen(node);
            }}
          />
        ))}
      </div>
      {size.width ? <Minimap picture={picture} size={size} now={now} onMove={(x, y) => setView({ k: now.k, x: size.width / 2 - x * now.k, y: size.height / 2 - y * now.k })} /> : null}
      <div class="tools" role="toolbar" aria-label="Picture">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.3)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.3)}>{"\u2212"}</button>
        <button type="button" onClick={() => setView(whole.k === fit.k ? null : whole)}>Fit</button>
        <button type="button" onClick={() => save("whence.svg", "image/svg+xml", svgOf(picture, theme(box.current!), words))}>SVG</button>
        <button type="button" onClick={() => void saveAsPng("whence.png", svgOf(picture, theme(box.current!), words))}>PNG</button>
      </div>
    </div>
  );
}

function escaped(text: string): string {
  return plain(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** What the shapes and lines of a picture are, in words. */
export interface Words {
  data: string;
  act: string;
  used?: string;
  made?: string;
  derived?: string;
  time?: string;
}
export const THINGS: Words = { data: "data (files, tables, arrays)", act: "activities (programs, functions)", used: "input", made: "output", derived: "derived from", time: "time runs from left to right" };
export const OPERATORS: Words = { data: "tables", act: "operators" };

/** Whether a line is neither an input nor an output. */
const isOther = (line: GraphLine): boolean => line.relation !== "used" && line.relation !== "wasGeneratedBy";

export const lookOf = (node: GraphNode, colours: Theme): [string, string] => (node.failed ? [colours.bad, colours.badLine] : node.kind === "entity" ? [colours.data, colours.dataLine] : node.kind === "activity" ? [colours.act, colours.actLine] : [colours.card, colours.actLine]);
const lineOf = (line: GraphLine, colours: Theme): string => (line.relation === "used" ? colours.used : line.relation === "wasGeneratedBy" ? colours.made : colours.faint);

/** Where the words beside a line stand. */
function beside(line: GraphLine): [number, number] | null {
  const p = line.points;
  if (!line.label || p.length < 8) return null;
  const mid = Math.floor(p.length / 4) * 2;
  return [(p[0]! + p[p.length - 2]!) / 2, p.length === 8 ? Math.min(p[1]!, p[7]!, (p[1]! + p[7]!) / 2 - 2) - 5 : p[mid + 1]! - 6];
}

/** The same picture as a file, with its legend below. */
export function svgOf(picture: Picture, colours: Theme, words: Words): string {
  const text = (x: number, y: number, told: string, look: string) => `<text x="${x}" y="${y}" ${look}>${escaped(told)}</text>`;
  const parts = picture.lines.map((line) => {
    const [p, colour] = [line.points, lineOf(line, colours)];
    let path = `M${p[0]},${p[1]}`;
    for (let i = 2; i + 5 < p.length; i += 6) path += ` C${p.slice(i, i + 6).join(" ")}`;
    const side = p[0]! >= p[p.length - 2]! ? -8 : 8;
    const at = beside(line);
    return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${1.2 + 2.4 * line.weight}"/><path d="M${p[0]},${p[1]} l${side},-4 v8 z" fill="${colour}"/>${at ? text(at[0], at[1], line.label, `text-anchor="middle" font-size="11" fill="${colour}" stroke="${colours.card}" stroke-width="4" paint-order="stroke"`) : ""}`;
  });
  const rect = (x: number, y: number, w: number, h: number, rx: number, look: string) => `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="${rx}" ${look}/>`;
  for (const node of picture.nodes) {
    const [fill, stroke] = lookOf(node, colours);
    const [x, y, rx] = [node.x - node.w / 2, node.y - node.h / 2, node.kind === "entity" ? node.h / 2 : 7];
    parts.push(`<g><title>${escaped(node.title)}</title>${node.count > 1 ? rect(x + 4, y + 4, node.w, node.h, rx, `fill="${colours.card}" stroke="${stroke}"`) : ""}${rect(x, y, node.w, node.h, rx, `fill="${fill}" stroke="${stroke}" stroke-width="${node.strong ? 2.5 : 1.2}"${node.failed ? ' stroke-dasharray="5 3"' : ""}`)}`);
    parts.push(text(node.x, node.y + (node.note ? -2 : 4), node.label, 'text-anchor="middle"'));
    if (node.note) parts.push(text(node.x, node.y + 13, node.note, `text-anchor="middle" font-size="11" fill="${node.failed ? colours.badLine : colours.faint}"`));
    parts.push("</g>");
  }
  let [x, y] = [16, picture.height + 18];
  const told = (mark: string, said: string) => {
    parts.push(mark, text(x + 28, y + 4, said, `font-size="11" fill="${colours.faint}"`));
    x += 46 + 6 * said.length;
  };
  const shape = (fill: string, stroke: string, rx: number, more = "") => rect(x, y - 7, 22, 14, rx, `fill="${fill}" stroke="${stroke}"${more}`);
  told(shape(colours.data, colours.dataLine, 7), words.data);
  told(shape(colours.act, colours.actLine, 3), words.act);
  if (picture.nodes.some((node) => node.failed)) told(shape(colours.bad, colours.badLine, 3, ' stroke-dasharray="5 3"'), "failed");
  for (const [said, colour] of [[words.used, colours.used], [words.made, colours.made], [picture.lines.some(isOther) ? words.derived : undefined, colours.faint]] as const) if (said) told(`<path d="M${x},${y} h22" stroke="${colour}" stroke-width="2"/>`, said);
  if (words.time) told("", words.time);
  const [width, height] = [Math.max(picture.width, x), picture.height + 36];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${FONT.replace(/'/g, "")}" font-size="12.5" fill="${colours.ink}"><rect width="100%" height="100%" fill="${colours.card}"/>${parts.join("")}</svg>`;
}

export function Legend({ picture, words = THINGS }: { picture?: Picture; words?: Words }) {
  return (
    <ul class="legend" aria-label="Legend">
      <li><i class="k data" />{words.data}</li>
      <li><i class="k act" />{words.act}</li>
      {picture?.nodes.some((node) => node.failed) ? <li><i class="k bad" />failed</li> : null}
      {words.used ? <li><i class="k used" />{words.used}</li> : null}
      {words.made ? <li><i class="k made" />{words.made}</li> : null}
      {words.derived && picture?.lines.some(isOther) ? <li><i class="k derived" />{words.derived}</li> : null}
      {words.time ? <li class="time">{words.time}</li> : null}
    </ul>
  );
}
