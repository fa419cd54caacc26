// In a notebook, things that ask nothing: a graph, or cells of datasets.
import { useEffect, useRef } from "preact/hooks";
import { Graph, Legend, type Picture } from "./graph";
import { drawArray, fitAll, type Box } from "./heatmap";
import { useDark, useSize } from "./parts";
import { fitted, theme } from "./theme";
import { counted, plain, sides } from "./words";

export interface StillThing {
  kind?: "picture" | "cells";
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
          <Legend failed={thing.picture.nodes.some((node) => node.failed)} />
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
