// A table: pages of rows from the server; a row or a cell asked about, its source rows beside it.
import { useAnswer } from "./ask";
import { Empty, Superset, Waiting, save } from "./parts";
import { go, link, place, readAt } from "./place";
import { count, counted, plain, took } from "./words";

type Value = string | number | boolean | null;
interface Page {
  name: string;
  columns: { name: string; type: string }[];
  rows: { number: number; cells: Value[] }[];
  total: number;
  from: number;
  same: boolean | null;
  traced: boolean;
  pipeline: string | null;
}
interface Source {
  name: string;
  kind: string;
  count: number;
  text: string;
  found: number;
  columns: string[];
  rows: { number: number; cells: Value[] }[];
  marked: string[];
  /** Those of the marked columns that carry the value; null if that is not known. */
  carried: string[] | null;
  unread?: string;
}
interface Rows {
  available: boolean;
  precise?: boolean;
  reason?: string | null;
  ms?: number;
  notes?: string[];
  sources: Source[];
}

const ROWS = 100;
const FEW = 8; // values of a row that are listed before its lineage
const isNumber = (type: string): boolean => /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL\(.*\))$/.test(type);
const shown = (value: Value): string => (value === null ? "null" : plain(String(value)));

export function TableView() {
  const here = place.value;
  const start = Number(here.from ?? 0);
  const asked = useAnswer<Page>("table", { name: here.name, from: start, rows: ROWS, sort: here.sort, where: here.where });
  const page = asked.data;
  const lineage = useAnswer<Rows>("rows", here.row ? { name: here.name, row: here.row, column: here.column, way: here.way } : null);
  const where = readAt<Record<string, string>>("where", {});
  const filter = (column: string, text: string) => {
    const next = { ...where, [column]: text };
    if (!text) delete next[column];
    go({ where: Object.keys(next).length ? JSON.stringify(next) : undefined, from: undefined }, { replace: true });
  };
  const sort = (column: string) => go({ sort: here.sort === column ? `-${column}` : here.sort === `-${column}` ? undefined : column, from: undefined });
  return (
    <main class={`split${here.row ? "" : " wide"}`}>
      <section class="stage" aria-label="Table">
        <h1 class="sr">Table {plain(here.name!)}</h1>
        <nav class="crumbs" aria-label="Table"><a {...link({ view: "table" })}>Tables</a><span>{plain(here.name!)}</span>{page ? <em>{counted(page.total, "row")}</em> : null}{page?.same === false ? <em class="warn">the file changed since the log saw it</em> : null}</nav>
        <div class="grid">
          <Waiting asked={asked}>
            {page ? (
              <table>
                <thead>
                  <tr><th scope="col" class="number">row</th>{page.columns.map((column) => (
                    <th scope="col" key={column.name} class={isNumber(column.type) ? "n" : undefined} aria-sort={here.sort === column.name ? "ascending" : here.sort === `-${column.name}` ? "descending" : undefined}>
                      <button type="button" onClick={() => sort(column.name)} title={`${plain(column.name)}: ${column.type}`}>{plain(column.name)}{here.sort === column.name || here.sort === `-${column.name}` ? <i aria-hidden="true">{here.sort === column.name ? "\u2191" : "\u2193"}</i> : null}</button>
                      <small>{column.type.toLowerCase()}</small>
                      <input aria-label={`Filter ${plain(column.name)}`} placeholder="filter" value={where[column.name] ?? ""} onInput={(event) => filter(column.name, event.currentTarget.value)} />
                    </th>
                  ))}</tr>
                </thead>
                <tbody>
                  {page.rows.map((row) => {
                    const own = String(row.number);
                    return (
                      <tr key={row.number} aria-selected={here.row === own}>
                        <th scope="row" class="number"><button type="button" aria-label={`Where did row ${row.number} come from?`} onClick={() => go({ row: own, column: undefined })}>{count(row.number)}</button></th>
                        {row.cells.map((cell, at) => (
                          <td key={at} class={`${isNumber(page.columns[at]!.type) ? "n" : ""}${cell === null ? " null" : ""}${here.row === own && here.column === page.columns[at]!.name ? " chosen" : ""}`}><button type="button" tabIndex={-1} onClick={() => go({ row: own, column: page.columns[at]!.name })}>{shown(cell)}</button></td>
                        ))}
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            ) : null}
            {page && !page.rows.length ? <Empty title="No rows">{page.total ? `There are ${count(page.total)}.` : Object.keys(where).length ? "No row passes all filters." : "The table is empty."}</Empty> : null}
          </Waiting>
        </div>
        {page ? (
          <footer class="under pages">
            <button type="button" disabled={start === 0} onClick={() => go({ from: Math.max(0, start - ROWS) || undefined })}>Earlier</button>
            <span>{page.rows.length ? `${count(start)} to ${count(Math.min(start + ROWS, page.total) - 1)} of ${count(page.total)}` : "none"}</span>
            <button type="button" disabled={start + ROWS >= page.total} onClick={() => go({ from: start + ROWS })}>Later</button>
          </footer>
        ) : null}
      </section>
      {here.row ? <aside class="side" aria-label="Lineage of the row"><Lineage asked={lineage} page={page} /></aside> : null}
    </main>
  );
}

function Lineage({ asked, page }: { asked: ReturnType<typeof useAnswer<Rows>>; page?: Page }) {
  const here = place.value;
  const row = page?.rows.find((each) => String(each.number) === here.row);
  const cells = row ? page!.columns.map((column, at): [string, Value] => [column.name, row.cells[at]!]) : [];
  const found = asked.data;
  const asking = page && here.column ? page.columns.findIndex((column) => column.name === here.column) : -1;
  return (
    <div class="card">
      <p class="kind">{here.column ? "cell" : "row"}</p>
      <h2>{plain(here.name!)}, row {here.row}{here.column ? <span class="asked"> {plain(here.column)}</span> : null}</h2>
      <Cells of={cells.filter(([name], at) => at < FEW || name === here.column)} />
      <div class="row" role="group" aria-label="Direction">
        {(["backward", "forward"] as const).map((way) => <button key={way} type="button" aria-pressed={(here.way ?? "backward") === way} onClick={() => go({ way: way === "backward" ? undefined : way })}>{way === "backward" ? "Came from" : "Went to"}</button>)}
        {page?.pipeline ? <a {...link({ view: "pipeline", name: page.pipeline, row: here.row })}>Through the pipeline</a> : null}
        <button type="button" class="plain" onClick={() => go({ row: undefined, column: undefined, way: undefined })}>Close</button>
      </div>
      <Waiting asked={asked}>
        {found ? (
          found.available ? (
            <>
              <Superset precise={found.precise} reason={found.reason} />
              <p class="faint">{found.precise === false ? "Found" : "Exactly these"}{found.ms !== undefined ? `, in ${took(found.ms)}` : ""}</p>
              {found.sources.some((source) => source.carried !== null) ? <ul class="legend" aria-label="Legend"><li><i class="k carries" />carries the value</li><li><i class="k decided" />join key or condition</li></ul> : null}
              {found.sources.map((source) => <SourceRows key={source.name} source={source} way={here.way === "forward" ? "to" : "from"} />)}
              {found.notes?.map((each) => <p key={each} class="note">{plain(each)}</p>)}
              {found.sources.length ? null : <p class="faint">Nothing.</p>}
              <div class="row">
                <a class="main" {...link({ view: "story", name: here.name, cells: `${here.row},${asking < 0 ? ":" : asking}`, way: here.way })}>Tell the story</a>
                <button type="button" onClick={() => save("rows.json", "application/json", JSON.stringify(found, null, 1))}>JSON</button>
              </div>
            </>
          ) : <p class="note">{plain(found.reason ?? "")}</p>
        ) : null}
      </Waiting>
      {cells.length > FEW ? <details><summary>All {count(cells.length)} values of the row</summary><Cells of={cells} /></details> : null}
    </div>
  );
}

function Cells({ of }: { of: [string, Value][] }) {
  const { column } = place.value;
  return <dl class="facts">{of.map(([name, value]) => <div key={name}><dt>{plain(name)}</dt><dd class={column === name ? "asked" : undefined}>{shown(value)}</dd></div>)}</dl>;
}

function SourceRows({ source, way }: { source: Source; way: "from" | "to" }) {
  const mark = (name: string) => (!source.marked.includes(name) ? undefined : source.carried === null || source.carried.includes(name) ? `marked-${way}` : "decided");
  const numeric = source.columns.map((_, at) => source.rows.every((row) => row.cells[at] === null || typeof row.cells[at] === "number"));
  const look = (at: number) => [mark(source.columns[at]!), numeric[at] ? "n" : undefined].filter(Boolean).join(" ");
  const open = source.kind === "table" ? { view: "table", name: source.name, row: source.rows[0]?.number } : source.kind === "array" ? { view: "array", name: source.name, cells: source.text } : { id: source.name };
  return (
    <section>
      <h3 class={way}><a {...link(open)}>{plain(source.name)}</a> <small>{source.kind === "table" ? counted(source.found, "row") : source.kind === "array" ? `${counted(source.count, "cell")}: ${plain(source.text)}` : plain(source.kind)}</small></h3>
      {source.unread ? <p class="note">{plain(source.unread)}</p> : null}
      {source.rows.length ? (
        <div class="grid tight" tabIndex={0} role="region" aria-label={`Rows of ${plain(source.name)}`}>
          <table>
            <thead><tr><th scope="col" class="number">row</th>{source.columns.map((name, at) => <th scope="col" key={name} class={look(at)}>{plain(name)}</th>)}</tr></thead>
            <tbody>{source.rows.map((row) => <tr key={row.number}><th scope="row" class="number">{count(row.number)}</th>{row.cells.map((cell, column) => <td key={column} class={look(column)}>{shown(cell)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      ) : null}
      {source.found > source.rows.length && source.rows.length ? <p class="faint">The first {count(source.rows.length)} of {count(source.found)}.</p> : null}
    </section>
  );
}
