// A pipeline: operators from left to right, the words of each, what was saved, and where columns come from.
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./ask";
import { Graph, Legend, type Picture } from "./graph";
import { Empty, Facts, Waiting } from "./parts";
import { go, link, place } from "./place";
import { counted, plain, when } from "./words";

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
  operators?: { title: string; asked: string; kept: string }[];
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
  const found = asked.data;
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
            {found?.picture ? <Graph picture={found.picture} label="Operators" chosen={(each) => each === node} onChoose={(each) => go({ step: found.picture!.nodes.indexOf(each) })} /> : <Empty title="No plan">The log has no plan of this pipeline.</Empty>}
          </Waiting>
        </div>
        <footer class="under"><Legend failed={false} /><p>Rows run from the sources on the left to the output on the right.</p></footer>
      </section>
      <aside class="side" aria-label="Details">
        {node ? <div class="card"><p class="kind">operator</p><h2>{plain(node.label)}</h2><p class="code">{plain(node.title)}</p>{operator?.asked ? <><h3>{found?.row ? "Rows of this row's lineage" : "Rows of one row's lineage"}</h3><p class="code">{plain(operator.asked)}</p></> : null}{operator?.kept ? <p class="note">{plain(operator.kept)}</p> : null}</div> : null}
        {found ? (
          <div class="card">
            <p class="kind">pipeline</p>
            <h2>{plain(found.name)}</h2>
            {found.output ? <div class="row"><a class="main" {...link({ view: "table", name: found.output })}>Open the output</a>{found.activity ? <a {...link({ id: found.activity })}>{plain(found.activity)}</a> : null}</div> : null}
            <Facts of={[["runs", String(found.runs.length)], ["last", when(found.runs.at(-1)?.created)], ["took", seconds(found.started, found.ended)], ["rows out", found.rows === null ? "" : String(found.rows)], ["saved", found.saved.length ? found.saved.map((each) => (each.place[0] === -1 ? "the output" : `${each.rows ?? "some"} rows before the end`)).join(", ") : "nothing"], ["recomputed", found.recomputed ? `${counted(found.recomputed, "result")} by DuckDB when asked` : ""], ["not saved", found.reason ?? ""]]} />
            {found.failures.map((each) => <p key={each} class="note bad">{plain(each)}</p>)}
            <Columns columns={found.columns} />
          </div>
        ) : null}
      </aside>
    </main>
  );
}

function Columns({ columns }: { columns: Pipeline["columns"] }) {
  const [over, setOver] = useState("");
  const values = columns.filter((each) => each.name);
  const decided = columns.find((each) => !each.name)?.from ?? [];
  if (!values.length) return null;
  return (
    <section>
      <h3>Columns</h3>
      <ul class="list columns">
        {values.map((each) => (
          <li key={each.name}>
            <button type="button" class="plain" aria-pressed={over === each.name} onMouseEnter={() => setOver(each.name)} onFocus={() => setOver(each.name)} onClick={() => setOver(each.name)}>{plain(each.name)}</button>
            <small>{each.from.map((from) => <span key={`${from.source}.${from.column}`} class={over === each.name ? "marked" : undefined}>{spelled(from)}</span>)}</small>
          </li>
        ))}
      </ul>
      {decided.length ? <p class="faint">Which rows there are was decided by {decided.map((from) => spelled(from)).join(", ")}.</p> : null}
    </section>
  );
}
