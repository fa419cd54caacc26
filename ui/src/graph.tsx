// A graph that the server laid out: drawn on a canvas, with a button over each node so that keyboards reach it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { save, useDark, useSize } from "./parts";
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
interface View {
  x: number;
  y: number;
  k: number;
}

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
    const colour = line.relation === "used" ? colours.used : line.relation === "wasGeneratedBy" ? colours.made : colours.faint;
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
    if (line.label && p.length >= 8) {
      const mid = Math.floor(p.length / 4) * 2;
      pen.font = `11px ${FONT}`;
      pen.textAlign = "center";
      pen.lineWidth = 4;
      pen.strokeStyle = colours.card;
      const [x, y] = [(p[0]! + p[p.length - 2]!) / 2, p.length === 8 ? (p[1]! + p[7]!) / 2 - 6 : p[mid + 1]! - 6];
      pen.strokeText(line.label, x, y);
      pen.fillText(line.label, x, y);
    }
  }
  picture.nodes.forEach((node, at) => {
    pen.globalAlpha = !dim || hot.has(at) ? 1 : 0.3;
    if (node.count > 1) {
      // A stack of cards: this one stands for several.
      pen.fillStyle = colours.card;
      pen.strokeStyle = node.kind === "entity" ? colours.dataLine : colours.actLine;
      pen.lineWidth = 1;
      pen.save();
      pen.translate(4, 4);
      shape(pen, node, 0);
      pen.fill();
      pen.stroke();
      pen.restore();
    }
    shape(pen, node, 0);
    pen.fillStyle = node.failed ? colours.bad : node.kind === "entity" ? colours.data : node.kind === "activity" ? colours.act : colours.card;
    pen.strokeStyle = node.failed ? colours.badLine : node.kind === "entity" ? colours.dataLine : colours.actLine;
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

export function Graph({ picture, label, chosen, marked, onChoose, onOpen }: {
  picture: Picture;
  /** Nodes that stand out while none is hovered. */
  marked?: Set<number>;
  label: string;
  chosen: (node: GraphNode) => boolean;
  onChoose: (node: GraphNode) => void;
  onOpen?: (node: GraphNode) => void;
}) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, setView] = useState<View | null>(null);
  const [over, setOver] = useState(-1);
  const dark = useDark();
  const fit = useMemo<View>(() => {
    if (!size.width) return { x: 0, y: 0, k: 1 };
    // A picture that is too wide to be read when it fits starts at its right end, where the latest results are.
    const whole = Math.min(size.width / (picture.width + 24), size.height / (picture.height + 24), 1.25);
    const k = Math.max(whole, size.width < 600 ? 0.85 : 0.62);
    const wide = picture.width * k;
    return { x: wide <= size.width - 16 ? (size.width - wide) / 2 : size.width - wide - 16, y: Math.max(12, (size.height - picture.height * k) / 2), k };
  }, [picture, size.width, size.height]);
  useEffect(() => setView(null), [picture]);
  const now = view ?? fit;
  const at = picture.nodes.findIndex(chosen);
  useEffect(() => {
    if (!canvas.current || !box.current || !size.width) return;
    const pen = fitted(canvas.current, size.width, size.height);
    pen.translate(now.x, now.y);
    pen.scale(now.k, now.k);
    draw(pen, picture, theme(box.current), over >= 0 ? around(picture, over) : (marked ?? new Set()), at);
  }, [picture, now, size, over, at, dark, marked]);

  // What was chosen elsewhere (by a link, or while a journey plays) is moved into view.
  useEffect(() => {
    const node = picture.nodes[at];
    if (!node || !size.width) return;
    const [x, y] = [now.x + node.x * now.k, now.y + node.y * now.k];
    const [w, h] = [(node.w * now.k) / 2, (node.h * now.k) / 2];
    if (x - w >= 0 && x + w <= size.width && y - h >= 0 && y + h <= size.height) return;
    setView({ k: now.k, x: now.x + size.width / 2 - x, y: now.y + size.height / 2 - y });
  }, [at, picture, size.width]);

  const zoom = (by: number, x = size.width / 2, y = size.height / 2) =>
    setView((old) => {
      const from = old ?? fit;
      const k = Math.min(3, Math.max(0.1, from.k * by));
      return { k, x: x - ((x - from.x) * k) / from.k, y: y - ((y - from.y) * k) / from.k };
    });
  const drag = useRef<{ x: number; y: number; view: View } | null>(null);
  return (
    <div
      class="graph"
      ref={box}
      onWheel={(event) => {
        event.preventDefault();
        const rect = box.current!.getBoundingClientRect();
        if (event.ctrlKey || event.deltaMode || Math.abs(event.deltaY) >= 40) zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - rect.left, event.clientY - rect.top);
        else setView((old) => ({ ...(old ?? fit), x: (old ?? fit).x - event.deltaX, y: (old ?? fit).y - event.deltaY }));
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
      <div class="tools" role="toolbar" aria-label="Picture">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.3)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.3)}>{"\u2212"}</button>
        <button type="button" onClick={() => setView(null)}>Fit</button>
        <button type="button" onClick={() => saveSvg(picture, theme(box.current!))}>SVG</button>
        <button type="button" onClick={() => savePng(picture, theme(box.current!))}>PNG</button>
      </div>
    </div>
  );
}

function savePng(picture: Picture, colours: Theme): void {
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * 2;
  canvas.height = picture.height * 2;
  const pen = canvas.getContext("2d")!;
  pen.scale(2, 2);
  pen.fillStyle = colours.card;
  pen.fillRect(0, 0, picture.width, picture.height);
  draw(pen, picture, colours, new Set(), -1);
  canvas.toBlob((blob) => blob && save("whence.png", "image/png", blob));
}

function escaped(text: string): string {
  return plain(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

export function svgOf(picture: Picture, colours: Theme): string {
  const parts = picture.lines.map((line) => {
    const p = line.points;
    let path = `M${p[0]},${p[1]}`;
    for (let i = 2; i + 5 < p.length; i += 6) path += ` C${p.slice(i, i + 6).join(" ")}`;
    const colour = line.relation === "used" ? colours.used : line.relation === "wasGeneratedBy" ? colours.made : colours.faint;
    return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${1.2 + 2.4 * line.weight}"/>`;
  });
  for (const node of picture.nodes) {
    const fill = node.failed ? colours.bad : node.kind === "entity" ? colours.data : colours.act;
    const line = node.failed ? colours.badLine : node.kind === "entity" ? colours.dataLine : colours.actLine;
    const rx = node.kind === "entity" ? node.h / 2 : 7;
    parts.push(`<g><title>${escaped(node.title)}</title><rect x="${node.x - node.w / 2}" y="${node.y - node.h / 2}" width="${node.w}" height="${node.h}" rx="${rx}" fill="${fill}" stroke="${line}"/>`);
    parts.push(`<text x="${node.x}" y="${node.y + (node.note ? -2 : 4)}" text-anchor="middle">${escaped(node.label)}</text>`);
    if (node.note) parts.push(`<text x="${node.x}" y="${node.y + 13}" text-anchor="middle" font-size="11" fill="${colours.faint}">${escaped(node.note)}</text>`);
    parts.push("</g>");
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${picture.width} ${picture.height}" width="${picture.width}" height="${picture.height}" font-family="${FONT.replace(/'/g, "")}" font-size="12.5" fill="${colours.ink}"><rect width="100%" height="100%" fill="${colours.card}"/>${parts.join("")}</svg>`;
}

function saveSvg(picture: Picture, colours: Theme): void {
  save("whence.svg", "image/svg+xml", svgOf(picture, colours));
}

export function Legend({ failed }: { failed: boolean }) {
  return (
    <ul class="legend" aria-label="Legend">
      <li><i class="k data" />data, files</li>
      <li><i class="k act" />activities</li>
      {failed ? <li><i class="k bad" />failed</li> : null}
      <li><i class="k used" />was used</li>
      <li><i class="k made" />was made</li>
      <li class="time">time runs from left to right</li>
    </ul>
  );
}
