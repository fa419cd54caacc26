// In a notebook, things that ask nothing: a graph, or cells of datasets; and rows of an answer, page by page.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "./ask";
import { Graph, Legend, type Picture } from "./graph";
import { drawArray, fitAll, type Box } from "./heatmap";
import { useDark, useSize, Waiting } from "./parts";
import { fitted, theme } from "./theme";
import { count, counted, plain, sides } from "./words";

export interface StillThing {
  kind?: "picture" | "cells" | "array" | "pipeline" | "rows";
  place?: Record<string, string>;
  sources?: string[];
  title?: string;
  picture?: Picture;
  cells?: { name: string; shape: number[]; count: number; boxes: Box[]; text: string }[];
}

export function Still({ thing }: { thing: StillThing }) {
  return (
    <div class="whence still">
      <p class="faint">{plain(thing.title ?? "")}</p>
      {thing.picture ? (
        <>
          <div class="canvas" style={{ height: `${Math.min(520, thing.picture.height + 60)}px` }}><Graph picture={thing.picture} label="Graph" chosen={() => false} onChoose={() => undefined} /></div>
          <Legend picture={thing.picture} />
        </>
      ) : null}
      {thing.cells ? <div class="stills">{thing.cells.map((each) => <Cells key={each.name} cells={each} />)}</div> : null}
    </div>
  );
}

function Cells({ cells }: { cells: NonNullable<StillThing["cells"]>[number] }) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  useEffect(() => {
    if (!canvas.current || !size.width) return;
    const pen = fitted(canvas.current, size.width, size.height);
    const colours = theme(canvas.current);
    const at = (cells.boxes[0] ?? []).slice(0, -2).map(([low]) => low);
    drawArray(pen, size, { name: cells.name, shape: cells.shape, values: false, at }, fitAll(cells.shape, size.width, size.height, 8), [{ boxes: cells.boxes, colour: colours.from, fill: 0.8 }], colours, dark, () => undefined);
  }, [cells, size, dark]);
  return (
    <figure class="card">
      <div class="canvas heat" ref={box}><canvas ref={canvas} role="img" aria-label={plain(`${cells.name} ${cells.text}`)} /></div>
      <figcaption><b>{plain(cells.name)}</b> {counted(cells.count, "cell")} of {sides(cells.shape)}: {plain(cells.text)}</figcaption>
    </figure>
  );
}

interface SourcePage {
  total: number;
  from: number;
  columns: string[];
  rows: (string | number | boolean | null)[][];
}

export function RowsOf({ thing }: { thing: StillThing }) {
  return (
    <div class="whence still">
      <p class="faint">{plain(thing.title ?? "")}</p>
      {(thing.sources ?? []).map((each) => <SourceTable key={each} source={each} />)}
    </div>
  );
}

function SourceTable({ source }: { source: string }) {
  const [from, setFrom] = useState(0);
  const asked = useAnswer<SourcePage>("page", { source, from });
  const page = asked.data;
  const size = page?.rows.length ?? 0;
  return (
    <section>
      <h3 class="from">{plain(source)} <small>{page ? counted(page.total, "row") : ""}</small></h3>
      <Waiting asked={asked}>
        {page ? (
          <div class="grid tight" tabIndex={0} role="region" aria-label={`Rows of ${plain(source)}`}>
            <table>
              <thead><tr>{page.columns.map((name) => <th scope="col" key={name}>{plain(name)}</th>)}</tr></thead>
              <tbody>{page.rows.map((row, at) => <tr key={at}>{row.map((cell, column) => <td key={column} class={typeof cell === "number" ? "n" : cell === null ? "null" : ""}>{cell === null ? "null" : plain(String(cell))}</td>)}</tr>)}</tbody>
            </table>
          </div>
        ) : null}
        {page && page.total > size ? (
          <div class="row">
            <button type="button" disabled={from === 0} onClick={() => setFrom(Math.max(0, from - 50))}>Earlier</button>
            <span class="faint">{count(from)} to {count(from + size - 1)} of {count(page.total)}</span>
            <button type="button" disabled={from + size >= page.total} onClick={() => setFrom(from + 50)}>Later</button>
          </div>
        ) : null}
      </Waiting>
    </section>
  );
}
