// Arrays, tables and pipelines to choose from; what to do with an empty log; a story.
import type { ComponentChildren } from "preact";
import { useAnswer } from "./ask";
import { Empty, Mark, Superset, Waiting, save, saveAsPng } from "./parts";
import { go, link, place } from "./place";
import { count, plain, sides, when } from "./words";

interface Datasets {
  found: { name: string; shape: number[]; created: string | null; by: string | null; values: boolean }[];
  count: number;
}

export function Chooser({ kind }: { kind: "array" | "table" }) {
  const text = place.value.q ?? "";
  const asked = useAnswer<Datasets>("datasets", { kind, q: text });
  const found = asked.data;
  return (
    <main class="page">
      <h1>{kind === "array" ? "Arrays" : "Tables"}</h1>
      <p class="lead">{kind === "array" ? "Choose one: brush cells of it, and see in every array of its chain what they came from and went to." : "Choose one: its rows are read from the file or from what a run saved."}</p>
      <input class="find" type="search" aria-label="Filter by name" placeholder="filter by name" value={text} onInput={(event) => go({ q: event.currentTarget.value }, { replace: true })} />
      <Waiting asked={asked}>
        {found?.found.length ? (
          <div class="grid"><table>
            <thead><tr><th scope="col">name</th>{kind === "array" ? <th scope="col">shape</th> : null}<th scope="col">made</th><th scope="col" class="by">by</th></tr></thead>
            <tbody>{found.found.map((each) => <tr key={each.name}><th scope="row"><a {...link({ view: kind, name: each.name })}>{plain(each.name)}</a>{kind === "array" && each.values ? <span class="tag">values</span> : null}</th>{kind === "array" ? <td>{sides(each.shape)}</td> : null}<td>{when(each.created)}</td><td class="by">{plain(each.by ?? "")}</td></tr>)}</tbody>
          </table></div>
        ) : <Empty title={`No ${kind}s`}>{text ? "None is called so." : kind === "array" ? "log.track records the arrays that a function takes and gives." : "Files that end in .parquet or .csv, and outputs of pipelines, are shown here."}</Empty>}
        {found && found.count > found.found.length ? <p class="faint">The last {count(found.found.length)} of {count(found.count)}; a part of its name finds any other.</p> : null}
      </Waiting>
    </main>
  );
}

export function Pipelines() {
  const asked = useAnswer<{ pipelines: { name: string; sources: string[]; last: string; runs: number }[] }>("pipelines", {});
  return (
    <main class="page">
      <h1>Pipelines</h1>
      <Waiting asked={asked}>
        {asked.data?.pipelines.length ? (
          <div class="grid"><table>
            <thead><tr><th scope="col">name</th><th scope="col">sources</th><th scope="col">runs</th><th scope="col">last</th></tr></thead>
            <tbody>{asked.data.pipelines.map((each) => <tr key={each.name}><th scope="row"><a {...link({ view: "pipeline", name: each.name })}>{plain(each.name)}</a></th><td>{each.sources.map(plain).join(", ")}</td><td class="n">{count(each.runs)}</td><td>{when(each.last)}</td></tr>)}</tbody>
          </table></div>
        ) : <Empty title="No pipelines">A pipeline is here after <code>log.pipeline(df, name="report").run()</code>.</Empty>}
      </Waiting>
    </main>
  );
}

export function Start({ where }: { where: string }) {
  const steps: [string, string, string][] = [
    ["Arrays", "Every cell of what a function returns knows the cells that it came from.", "import whence as wh\n\nlog = wh.open(\"project.whence\")\n\n@log.track\ndef smooth(x):\n    return (x[1:] + x[:-1]) / 2\n\nsmooth(image)"],
    ["Tables", "Rows of a Spark pipeline are traced to the rows of its sources.", "p = log.pipeline(df, \"report\")\np.run()\np.backward({\"city\": \"Oslo\"})"],
    ["Files", "What a command reads and writes is a version in the project's graph.", "$ whence run -- python train.py\n$ whence ls"],
  ];
  return (
    <main class="page start">
      <Mark />
      <h1>Nothing is recorded yet</h1>
      <p class="lead">This log is empty: <code>{plain(where)}</code>. Here is how it fills; then come back to this page.</p>
      <ol class="cards">{steps.map(([title, told, code]) => <li key={title} class="card"><h2>{title}</h2><p>{told}</p><pre tabIndex={0}>{code}</pre></li>)}</ol>
      <p>Or look at something that is ready: <code>whence demo --open</code></p>
    </main>
  );
}

interface Story {
  title: string;
  sentences: { text: string; doubt: string | null }[];
  endings: string[];
  html: string;
  svg: string;
  csv: string;
  document: unknown;
}

/** A sentence, with what stands between backticks as code. */
function coded(text: string): ComponentChildren {
  const parts = plain(text).split("`");
  return parts.length % 2 ? parts.map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part)) : plain(text);
}

export function StoryView() {
  const here = place.value;
  const asked = useAnswer<Story>("story", { name: here.name, cells: here.cells, way: here.way });
  const found = asked.data;
  const way = here.way === "forward" ? "forward" : "backward";
  return (
    <main class="page story">
      <Waiting asked={asked}>
        {found ? (
          <>
            <p class="kind">story</p>
            <h1>{plain(found.title)}</h1>
            <div class="row" role="group" aria-label="Direction">
              <button type="button" aria-pressed={way === "backward"} onClick={() => go({ way: undefined })}>Came from</button>
              <button type="button" aria-pressed={way === "forward"} onClick={() => go({ way: "forward" })}>Went to</button>
              <a {...link({ view: "array", name: here.name, cells: here.cells })}>Look at the cells</a>
            </div>
            <ol class="sentences">{found.sentences.map((each, at) => <li key={at}>{coded(each.text)}{each.doubt ? <Superset precise={false} reason={each.doubt} /> : null}</li>)}</ol>
            <figure class="way" tabIndex={0} role="region" aria-label="Picture of the way"><img alt="The way, as a picture" style={{ minWidth: `${0.75 * Number(/width="(\d+)"/.exec(found.svg)?.[1] ?? 0)}px` }} src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.svg)}`} /></figure>
            {found.endings.map((each) => <p key={each} class="faint">{plain(each)}</p>)}
            <div class="row">
              <button type="button" onClick={() => save("story.html", "text/html", found.html)}>HTML</button>
              <button type="button" onClick={() => save("story.svg", "image/svg+xml", found.svg)}>SVG</button>
              <button type="button" onClick={() => void saveAsPng("story.png", found.svg)}>PNG</button>
              <button type="button" onClick={() => save("story.csv", "text/csv", found.csv)}>CSV</button>
              <button type="button" onClick={() => save("story.json", "application/json", JSON.stringify(found.document, null, 1))}>JSON</button>
            </div>
          </>
        ) : null}
      </Waiting>
    </main>
  );
}
