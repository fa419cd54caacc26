// A pipeline: operators from left to right, the words of each, what was saved, and where columns come from.
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAnswer } from "./ask";
import { Graph, Legend, OPERATORS, type Picture } from "./graph";
import { Empty, Facts, Waiting } from "./parts";
import { go, link, place } from "./place";
import { count, counted, plain, when } from "./words";

interface From {
  source: string;
  column: string;
}
interface Pipeline {
  name: string;
  activity: string | null;
  row: Record<string, string | number | null> | null;
  started: string | null;
  ended: string | null;
  runs: { id: number; created: string }[];
  sources: string[];
  output: string | null;
  rows: number | null;
  saved: { rows: number | null; columns: number; place: number[] }[];
  recomputed: number;
  failures: string[];
  reason: string | null;
  columns: { name: string; from: From[] }[];
  picture: Picture | null;
  counted: boolean;
  operators?: Operator[];
}
interface Operator {
  title: string;
  asked: string;
  kept: string;
  into: (number | null)[];
  out: number | null;
  uncounted: string;
  reached: number | null;
  source: string | null;
}

function seconds(started: string | null, ended: string | null): string {
  if (!started || !ended) return "";
  const taken = (Date.parse(ended) - Date.parse(started)) / 1000;
  return Number.isFinite(taken) ? `${taken.toFixed(taken < 10 ? 1 : 0)} s` : "";
}

/** A column of a source: the file's name without its directory and ending. */
const spelled = (from: From): string => plain(`${from.source.split("/").pop()!.replace(/\.[a-z]+$/, "")}.${from.column}`);

export function PipelineView() {
  const here = place.value;
  const asked = useAnswer<Pipeline>("pipeline", { name: here.name, row: here.row });
  // Rows are counted while the picture is looked at already.
  const counts = useAnswer<Pipeline>("pipeline", asked.data ? { name: here.name, row: here.row, counts: 1 } : null);
  const found = counts.fresh && counts.data ? counts.data : asked.data;
  const [over, setOver] = useState("");
  const column = found?.columns.find((each) => each.name && each.name === (over || here.column));
  const marked = useMemo(() => marks(found, column?.from), [found, column]);
  const at = Number(here.step ?? -1);
  const node = found?.picture?.nodes[at];
  const operator = found?.operators?.[at];
  const [playing, play] = useState(false);
  useEffect(() => {
    if (!playing || !found?.picture) return;
    // From the output to the sources, as a question goes: operators are listed that way, the output last.
    const last = found.picture.nodes.length - 1;
    const next = at < 0 ? last : at === last ? 0 : at + 1;
    if (at >= 0 && at === last - 1) {
      play(false);
      return;
    }
    const timer = setTimeout(() => go({ step: next }, { replace: true }), at < 0 ? 0 : 900);
    return () => clearTimeout(timer);
  }, [playing, at, found]);
  return (
    <main class="split">
      <section class="stage" aria-label="Pipeline">
        <h1 class="sr">Pipeline {plain(here.name!)}</h1>
        <nav class="crumbs" aria-label="Pipeline"><a {...link({ view: "pipeline" })}>Pipelines</a><span>{plain(here.name!)}</span>{found?.row ? <em>row {here.row}: {Object.entries(found.row).map(([name, value]) => `${plain(name)} ${plain(String(value))}`).join(", ")}</em> : null}{found?.picture ? <button type="button" onClick={() => { go({ step: undefined }, { replace: true }); play(!playing); }}>{playing ? "Stop" : "Play"}</button> : null}</nav>
        <div class="canvas">
          <Waiting asked={asked}>
            {found?.picture ? <Graph kept words={OPERATORS} picture={found.picture} label="Operators" marked={marked} chosen={(each) => each === node} onChoose={(each) => go({ step: found.picture!.nodes.indexOf(each) })} /> : <Empty title="No plan">The log has no plan of this pipeline.</Empty>}
          </Waiting>
        </div>
        <footer class="under"><Legend words={OPERATORS} /><p>Rows run from the sources on the left to the output on the right. {counts.loading ? <span role="status">Counting rows ...</span> : found?.counted ? "Numbers beside lines are rows." : ""}</p></footer>
      </section>
      <aside class="side" aria-label="Details">
        {node ? <div class="card"><p class="kind">operator</p><h2>{plain(node.label)}</h2><p class="code">{plain(node.title)}</p>{operator?.asked ? <><h3>{found?.row ? "The row came from rows with" : "A row comes from rows with"}</h3><p class="code">{plain(operator.asked)}</p><Results asked={operator.asked} operators={found!.operators!} /></> : null}{operator && found ? <Rows operator={operator} counted={found.counted} /> : null}{operator?.kept ? <p class="note">{plain(operator.kept)}</p> : null}</div> : null}
        {found ? (
          <div class="card">
            <p class="kind">pipeline</p>
            <h2>{plain(found.name)}</h2>
            {found.output ? <div class="row"><a class="main" {...link({ view: "table", name: found.output })}>Open the output</a>{found.activity ? <a {...link({ id: found.activity })}>{plain(found.activity)}</a> : null}</div> : null}
            <Facts of={[["runs", count(found.runs.length)], ["last", when(found.runs.at(-1)?.created)], ["took", seconds(found.started, found.ended)], ["rows out", found.rows === null ? "" : count(found.rows)], ["saved", found.saved.length ? found.saved.map((each) => (each.place[0] === -1 ? "the output" : `${each.rows === null ? "rows" : counted(each.rows, "row")} of an operator before it`)).reverse().join("; ") : "nothing"], ["recomputed", found.recomputed ? `${counted(found.recomputed, "result")} by DuckDB when asked` : ""], ["other results", found.reason ? `not saved: ${found.reason}` : ""]]} />
            {found.failures.map((each) => <p key={each} class="note bad">{plain(each)}</p>)}
            <Columns columns={found.columns} over={column?.name ?? ""} onOver={setOver} />
          </div>
        ) : null}
      </aside>
    </main>
  );
}

/** The sources that a column came from, with all operators between them and the output. */
function marks(found: Pipeline | undefined, from: From[] | undefined): Set<number> | undefined {
  if (!found?.picture || !found.operators || !from?.length) return undefined;
  const wanted = new Set(from.map((each) => each.source));
  const kept = new Set<number>([found.picture.nodes.length - 1]);
  const ways = (at: number): boolean => {
    const below = found.picture!.lines.filter((line) => line.source === at && line.relation === "used").map((line) => ways(line.target));
    const source = found.operators![at]!.source;
    const on = below.some(Boolean) || (source !== null && wanted.has(source));
    if (on) kept.add(at);
    return on;
  };
  ways(0);
  return kept.size > 1 ? kept : undefined;
}

/** A predicate may speak of rows of another result, by its number: where that is. */
function Results({ asked, operators }: { asked: string; operators: Operator[] }) {
  const numbers = [...new Set([...asked.matchAll(/:(\d+)\./g)].map((each) => each[1]!))];
  return <>{numbers.map((each) => {
    const made = operators.find((other) => other.kept.includes(` as ${each}: `));
    return made ? <p key={each} class="faint">:{each} stands for the rows of this row's lineage at {plain(made.title.split(" ")[0]!)}, {made.kept.startsWith("saved") ? "which the run saved" : "which are recomputed on demand"}.</p> : null;
  })}</>;
}

function Rows({ operator, counted: done }: { operator: Operator; counted: boolean }) {
  const told = (value: number | null) => (value === null ? "not counted" : count(value));
  return <Facts of={[
    ["rows in", operator.into.length ? (done ? operator.into.map(told).join(" + ") : "counting ...") : ""],
    ["rows out", done || operator.out !== null ? told(operator.out) : "counting ..."],
    ["because", done && operator.uncounted ? operator.uncounted : ""],
    ["of this row", operator.reached === null ? "" : `${counted(operator.reached, "row")} of its lineage`],
  ]} />;
}

function Columns({ columns, over, onOver }: { columns: Pipeline["columns"]; over: string; onOver: (name: string) => void }) {
  const values = columns.filter((each) => each.name);
  const decided = columns.find((each) => !each.name)?.from ?? [];
  if (!values.length) return null;
  return (
    <section>
      <h3>Columns</h3>
      <ul class="list columns">
        {values.map((each) => (
          <li key={each.name}>
            <button type="button" class="plain" aria-pressed={over === each.name} onMouseEnter={() => onOver(each.name)} onMouseLeave={() => onOver("")} onFocus={() => onOver(each.name)} onBlur={() => onOver("")} onClick={() => go({ column: each.name === place.value.column ? undefined : each.name }, { replace: true })}>{plain(each.name)}</button>
            <small>{each.from.map((from) => <span key={`${from.source}.${from.column}`} class={over === each.name ? "marked" : undefined}>{spelled(from)}</span>)}</small>
          </li>
        ))}
      </ul>
      {decided.length ? <p class="faint">Which rows there are was decided by {decided.map((from) => spelled(from)).join(", ")}.</p> : null}
    </section>
  );
}
