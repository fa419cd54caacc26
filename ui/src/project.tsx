// The project: an overview, parts of it opened, one thing looked at, and the segment between two.
import { useState } from "preact/hooks";
import { useAnswer } from "./ask";
import { Graph, Legend, type GraphNode, type Picture } from "./graph";
import { Empty, Facts, Waiting } from "./parts";
import { go, link, namesAt, place } from "./place";
import { count, counted, plain, size, when } from "./words";

export interface Summary {
  where: string;
  vertices: number;
  edges: number;
  kinds: Record<string, number>;
  people: string[];
  times: string[];
  pipelines: string[];
  values: string[];
}
interface Drawn {
  picture: Picture;
  how: string;
  shown?: number;
  count?: number;
}
interface Segment {
  picture: Picture;
  why: string;
  count: number;
  left_out: string[];
}
interface Brief {
  id: string;
  kind: string;
  about: string;
  when: string | null;
  failed: boolean;
}
interface Vertex extends Brief {
  properties: Record<string, unknown>;
  around: Record<string, Brief[]>;
  versions: (Brief & { size?: number; hash: string })[];
  opens: string[];
}

export const filters = () => ({ kinds: place.value.kinds, who: place.value.who, after: place.value.after, before: place.value.before });

export function Project({ summary }: { summary: Summary }) {
  const here = place.value;
  const between = namesAt("dst").length > 0;
  const opened = !between && here.of !== undefined;
  const drawn = useAnswer<Drawn>(opened ? "part" : "overview", between ? null : { ...filters(), of: here.of });
  const segment = useAnswer<Segment>("segment", between ? { src: here.src, dst: here.dst, expand: here.expand, inputs: here.inputs, without: here.without, not_by: here.not_by } : null);
  const asked = between ? segment : drawn;
  const picture = between ? segment.data?.picture : drawn.data?.picture;
  const choose = (node: GraphNode) => {
    if (node.ids.length === 1) go({ id: node.ids[0], many: undefined });
    else go({ many: node.ids[0], id: undefined });
  };
  const many = picture?.nodes.find((node) => here.many !== undefined && node.ids[0] === here.many);
  return (
    <main class="split">
      <section class="stage" aria-label="Project">
        <h1 class="sr">Project</h1>
        <Filters summary={summary} />
        {between ? <Between summary={summary} found={segment.data} /> : null}
        {opened ? <nav class="crumbs" aria-label="Part"><a {...link({ of: undefined, many: undefined }, false)}>Whole project</a><span>{plain(here.of!)} and alike</span></nav> : null}
        <div class="canvas">
          <Waiting asked={asked}>
            {picture && picture.nodes.length ? (
              <Graph kept picture={picture} label="Things and how they came about" chosen={(node) => (here.id !== undefined && node.ids.includes(here.id)) || node === many} onChoose={choose} onOpen={between ? undefined : (node) => go({ of: node.ids[0], many: undefined, id: undefined })} />
            ) : (
              <Empty title={between ? "Nothing lies between them" : "Nothing is left"}>{between ? plain(segment.data?.why ?? "") : "No vertex passes all filters. Take one away."}</Empty>
            )}
          </Waiting>
        </div>
        <footer class="under">
          <Legend picture={picture} />
          <p>{plain((between ? segment.data?.why : drawn.data?.how) ?? "")}</p>
        </footer>
      </section>
      <aside class="side" aria-label="Details">
        {here.id !== undefined ? <About id={here.id} /> : many ? <Many node={many} /> : <Welcome summary={summary} />}
      </aside>
    </main>
  );
}

function Filters({ summary }: { summary: Summary }) {
  const here = place.value;
  const chosen = new Set((here.kinds ?? "").split(",").filter(Boolean));
  const toggle = (kind: string) => {
    const next = new Set(chosen);
    if (!next.delete(kind)) next.add(kind);
    go({ kinds: [...next].join(","), of: undefined, many: undefined });
  };
  const names: Record<string, string> = { file: "files", array: "arrays", table: "tables", activity: "activities", other: "other" };
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <div class="chips" role="group" aria-label="Kinds">
        {Object.entries(summary.kinds).map(([kind, number]) => (
          <button key={kind} type="button" class="chip" aria-pressed={chosen.has(kind)} onClick={() => toggle(kind)}>{names[kind] ?? kind} <b>{count(number)}</b></button>
        ))}
      </div>
      {summary.people.length > 1 ? (
        <label>by <select value={here.who ?? ""} onChange={(event) => go({ who: event.currentTarget.value, of: undefined, many: undefined })}><option value="">anyone</option>{summary.people.map((each) => <option key={each} value={each}>{plain(each)}</option>)}</select></label>
      ) : null}
      {summary.times.length === 2 && summary.times[0]!.slice(0, 10) !== summary.times[1]!.slice(0, 10) ? (
        <>
          <label>from <input type="date" value={here.after ?? ""} min={summary.times[0]!.slice(0, 10)} max={summary.times[1]!.slice(0, 10)} onChange={(event) => go({ after: event.currentTarget.value, of: undefined })} /></label>
          <label>to <input type="date" value={here.before ?? ""} onChange={(event) => go({ before: event.currentTarget.value, of: undefined })} /></label>
        </>
      ) : null}
      {here.kinds || here.who || here.after || here.before ? <button type="button" class="plain" onClick={() => go({ kinds: undefined, who: undefined, after: undefined, before: undefined })}>Clear</button> : null}
    </form>
  );
}

function Between({ summary, found }: { summary: Summary; found?: Segment }) {
  const here = place.value;
  const [src, dst] = [namesAt("src"), namesAt("dst")];
  const without = new Set(namesAt("without"));
  const out = (name: string) => {
    const next = new Set(without);
    if (!next.delete(name)) next.add(name);
    go({ without: next.size ? JSON.stringify([...next]) : undefined });
  };
  return (
    <form class="between" aria-label="Segment" onSubmit={(event) => event.preventDefault()}>
      <p><b>{src.length ? src.map(plain).join(", ") : "all that it came from"}</b> <span aria-hidden="true">{"\u2192"}</span><span class="sr">to</span> <b>{dst.map(plain).join(", ")}</b>{found ? <em>{counted(found.count, "vertex", "vertices")}</em> : null}<button type="button" class="plain" onClick={() => go({ src: undefined, dst: undefined, expand: undefined, inputs: undefined, without: undefined, not_by: undefined })}>Back to the overview</button></p>
      <label title="Also what lies so many activities further back">expand by <input type="range" min="0" max="6" value={here.expand ?? "0"} onInput={(event) => go({ expand: event.currentTarget.value === "0" ? undefined : event.currentTarget.value }, { replace: true })} /><output>{counted(Number(here.expand ?? 0), "activity", "activities")}</output></label>
      <label class="tick" title="Also the inputs of these activities that are on no path between the two, such as code"><input type="checkbox" checked={here.inputs === "1"} onChange={(event) => go({ inputs: event.currentTarget.checked ? "1" : undefined })} />all inputs{found?.left_out.length ? ` (${found.left_out.length} left out)` : ""}</label>
      <span>follow</span>
      {(["wasDerivedFrom", "wasAttributedTo"] as const).map((name) => <label key={name} class="tick" title={name === "wasDerivedFrom" ? "Lines from data to the data that they were derived from" : "Lines from data to the people who made them"}><input type="checkbox" checked={!without.has(name)} onChange={() => out(name)} />{name === "wasDerivedFrom" ? "derivations" : "attributions"}</label>)}
      {summary.people.length > 1 ? (
        <label>leave out what was done by <select value={namesAt("not_by")[0] ?? ""} onChange={(event) => go({ not_by: event.currentTarget.value ? JSON.stringify([event.currentTarget.value]) : undefined })}><option value="">nobody</option>{summary.people.map((each) => <option key={each} value={each}>{plain(each)}</option>)}</select></label>
      ) : null}
    </form>
  );
}

function Many({ node }: { node: GraphNode }) {
  const [most, more] = useState(40);
  return (
    <div class="card">
      <p class="kind">{node.kind === "activity" ? "activities" : "versions and things alike"}</p>
      <h2>{plain(node.label)}</h2>
      <p>{counted(node.count, node.kind === "activity" ? "run" : "vertex", node.kind === "activity" ? "runs" : "vertices")}{node.failed ? ", some of them failed" : ""}.</p>
      <button type="button" class="main" onClick={() => go({ of: node.ids[0], many: undefined })}>Open this part</button>
      <ul class="list">{node.ids.slice(0, most).map((id) => <li key={id}><a {...link({ id, many: undefined }, false)}>{plain(id)}</a></li>)}</ul>
      {node.ids.length > most ? <button type="button" class="plain" onClick={() => more(most + 200)}>Show more</button> : null}
      {node.count > node.ids.length ? <p class="faint">The first {count(node.ids.length)} of {count(node.count)}; search finds the others.</p> : null}
    </div>
  );
}

function About({ id }: { id: string }) {
  const asked = useAnswer<Vertex>("vertex", { id });
  const found = asked.data;
  return (
    <div class="card">
      <Waiting asked={asked}>
        {found ? (
          <>
            <p class="kind">{found.kind === "entity" ? plain(found.about) : found.kind}{found.failed ? <span class="tag bad">failed</span> : null}</p>
            <h2>{plain(found.id)}</h2>
            <div class="row">
              {found.opens.map((view) => <a key={view} class="main" {...link(view === "pipeline" ? { view, name: String(found.properties.command ?? "").replace("pipeline ", "") } : { view, name: found.id })}>Open as {view}</a>)}
              {found.kind === "entity" ? (
                <>
                  <button type="button" onClick={() => go({ src: JSON.stringify([found.id]) })}>From here</button>
                  <button type="button" onClick={() => go({ dst: JSON.stringify([found.id]), of: undefined })}>{place.value.src ? "To here" : "How was it made?"}</button>
                </>
              ) : null}
            </div>
            {place.value.src && !place.value.dst ? <p class="note">From <b>{namesAt("src").map(plain).join(", ")}</b>: choose where to, then &ldquo;To here&rdquo;.</p> : null}
            {found.versions.length > 1 ? (
              <section>
                <h3>Versions</h3>
                <ol class="strip">{found.versions.map((each) => <li key={each.id}><a {...link({ id: each.id }, false)} aria-current={each.id === found.id ? "true" : undefined} title={plain(`${each.id} ${when(each.when)}`)}><b>{plain(each.id.split("@").pop()!)}</b><small>{each.size !== undefined ? size(each.size) : ""}</small></a></li>)}</ol>
              </section>
            ) : null}
            {Object.entries(found.around).map(([word, things]) => (
              <section key={word}>
                <h3>{word.charAt(0).toUpperCase() + word.slice(1)}</h3>
                <ul class="list">{things.slice(0, 30).map((each) => <li key={each.id}><a {...link({ id: each.id }, false)}>{plain(each.id)}</a>{each.failed ? <span class="tag bad">failed</span> : null}<small>{when(each.when)}</small></li>)}</ul>
              </section>
            ))}
            <section>
              <h3>Properties</h3>
              <Facts of={Object.entries(found.properties).map(([key, value]) => [key, key === "created" || key === "started" || key === "ended" ? when(String(value)) : key === "size" && typeof value === "number" ? size(value) : String(value).slice(0, 600)])} />
            </section>
          </>
        ) : null}
      </Waiting>
    </div>
  );
}

function Welcome({ summary }: { summary: Summary }) {
  return (
    <div class="card">
      <p class="kind">log</p>
      <h2>{plain(summary.where.split("/").pop() || summary.where)}</h2>
      <p class="dir">{plain(summary.where)}</p>
      <Facts of={[["vertices", count(summary.vertices)], ["edges", count(summary.edges)], ["first", summary.times[0] ? `${when(summary.times[0])} UTC` : ""], ["last", summary.times[1] ? `${when(summary.times[1])} UTC` : ""], ["people", summary.people.slice(0, 8).map(plain).join(", ")]]} />
      <section>
        <h3>Look at</h3>
        <ul class="list">
          {summary.kinds.array ? <li><a {...link({ view: "array" })}>{counted(summary.kinds.array, "array")}</a><small>cells and where they came from</small></li> : null}
          {summary.kinds.table || summary.kinds.file ? <li><a {...link({ view: "table" })}>Tables</a><small>rows, sorted and filtered</small></li> : null}
          {summary.pipelines.map((each) => <li key={each}><a {...link({ view: "pipeline", name: each })}>{plain(each)}</a><small>pipeline</small></li>)}
        </ul>
      </section>
      <p class="faint">Click a shape to see what it is. Twice, or <kbd>o</kbd>, opens it. Choose one thing as &ldquo;From here&rdquo; and another as &ldquo;To here&rdquo; for how the one became the other.</p>
    </div>
  );
}
