// An array as a picture: tiles that the server made, in grey, so that lineage is what has colour.
import { askBytes } from "./ask";
import type { Theme } from "./theme";

export type Box = [number, number][];
export interface Window {
  x: number; // the column at the left edge
  y: number; // the row at the top edge
  k: number; // pixels a cell
}
export interface Layer {
  boxes: Box[];
  colour: string;
  fill: number;
}

const TILE = 256;
const tiles = new Map<string, HTMLCanvasElement | (() => void)[]>(); // a list of who waits for one that was asked for

/** The two sides that are drawn: the last two axes; one axis is a row. */
export function plane(shape: number[]): [number, number] {
  return shape.length === 0 ? [1, 1] : shape.length === 1 ? [1, shape[0]!] : [shape[shape.length - 2]!, shape[shape.length - 1]!];
}

/** The boxes of a selection that lie in the plane of these leading indices, as (row, column) ranges. */
export function flat(boxes: Box[], shape: number[], at: number[]): [number, number, number, number][] {
  const found: [number, number, number, number][] = [];
  for (const box of boxes) {
    if (shape.length === 0) found.push([0, 0, 0, 0]);
    else if (shape.length === 1) found.push([0, 0, box[0]![0], box[0]![1]]);
    else {
      const lead = box.slice(0, -2);
      if (!lead.every(([low, high], axis) => low <= (at[axis] ?? 0) && (at[axis] ?? 0) <= high)) continue;
      const [rows, columns] = [box[box.length - 2]!, box[box.length - 1]!];
      found.push([rows[0], rows[1], columns[0], columns[1]]);
    }
  }
  return found;
}

/** Pixels of a cell across and down, in a picture of this height: cells are square, but what is thin is drawn wider. */
export function scales(shape: number[], k: number, height: number): [number, number] {
  const [rows, columns] = plane(shape);
  const least = Math.min(48, height / 4);
  return [Math.max(k, least / Math.max(columns, 1)), Math.max(k, least / Math.max(rows, 1))];
}

/** How much of it is seen at once: all of it, in the middle. */
export function fitAll(shape: number[], width: number, height: number, pad = 16, tools = 0): Window {
  const [rows, columns] = plane(shape);
  const k = Math.min((width - 2 * pad) / Math.max(columns, 1), (height - tools - 2 * pad) / Math.max(rows, 1), 64);
  const [kx, ky] = scales(shape, k, height);
  return { k, x: -(width / kx - columns) / 2, y: -((height - tools) / ky - rows) / 2 };
}

function tileOf(name: string, at: string, show: string, scale: number, down: number, x: number, y: number, ramp: Uint8ClampedArray, dark: boolean, done: () => void): HTMLCanvasElement | null {
  const key = JSON.stringify([name, at, show, scale, down, x, y, dark]);
  const known = tiles.get(key);
  if (known instanceof HTMLCanvasElement) return known;
  if (known) {
    known.push(done);
    return null;
  }
  if (tiles.size > 400) tiles.clear();
  const waiting = [done];
  tiles.set(key, waiting);
  askBytes("tile", { name, at, show, scale, down, x, y }).then(
    (buffer) => {
      const [rows, columns] = new Uint32Array(buffer, 0, 2);
      const bytes = new Uint8Array(buffer, 8);
      const canvas = document.createElement("canvas");
      canvas.width = Math.max(1, columns!);
      canvas.height = Math.max(1, rows!);
      if (bytes.length) {
        const image = new ImageData(columns!, rows!);
        for (let i = 0; i < bytes.length; i++) image.data.set(ramp.subarray(4 * bytes[i]!, 4 * bytes[i]! + 4), 4 * i);
        canvas.getContext("2d")!.putImageData(image, 0, 0);
      }
      tiles.set(key, canvas);
      for (const each of waiting) each();
    },
    () => tiles.delete(key),
  );
  return null;
}

function parsed(colour: string): [number, number, number] {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  return found ? [parseInt(found[1]!, 16), parseInt(found[2]!, 16), parseInt(found[3]!, 16)] : [128, 128, 128];
}

function rampOf(colours: Theme): Uint8ClampedArray {
  const [low, high, bad] = [parsed(colours.low), parsed(colours.high), parsed(colours.lost)];
  const found = new Uint8ClampedArray(256 * 4);
  for (let value = 1; value < 256; value++) {
    for (let part = 0; part < 3; part++) found[4 * value + part] = low[part]! + ((high[part]! - low[part]!) * (value - 1)) / 254;
    found[4 * value + 3] = 255;
  }
  found.set([...bad, 255], 0); // no finite number
  return found;
}

export function drawArray(
  pen: CanvasRenderingContext2D,
  size: { width: number; height: number },
  array: { name: string; shape: number[]; values: boolean; at: number[]; show?: string },
  view: Window,
  layers: Layer[],
  colours: Theme,
  dark: boolean,
  again: () => void,
): void {
  const [rows, columns] = plane(array.shape);
  const [kx, ky] = scales(array.shape, view.k, size.height);
  const [left, top] = [-view.x * kx, -view.y * ky];
  pen.clearRect(0, 0, size.width, size.height);
  pen.fillStyle = colours.low;
  pen.fillRect(left, top, columns * kx, rows * ky);
  if (array.values) {
    const ramp = rampOf(colours);
    const cells = (k: number) => Math.max(1, 2 ** Math.ceil(Math.log2(1 / k) - 0.01));
    const [scale, down] = [cells(kx), cells(ky)];
    const [across, along] = [TILE * scale, TILE * down];
    pen.imageSmoothingEnabled = view.k < 1;
    const first = [Math.max(0, Math.floor(view.x / across)), Math.max(0, Math.floor(view.y / along))];
    const last = [Math.min(Math.ceil(columns / across) - 1, Math.floor((view.x + size.width / kx) / across)), Math.min(Math.ceil(rows / along) - 1, Math.floor((view.y + size.height / ky) / along))];
    for (let y = first[1]!; y <= last[1]!; y++) {
      for (let x = first[0]!; x <= last[0]!; x++) {
        const tile = tileOf(array.name, array.at.join(","), array.show ?? "", scale, down, x, y, ramp, dark, again);
        if (tile) pen.drawImage(tile, left + x * across * kx, top + y * along * ky, tile.width * scale * kx, tile.height * down * ky);
      }
    }
  }
  pen.strokeStyle = colours.card;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let x = Math.max(0, Math.ceil(view.x)); kx >= 9 && x <= Math.min(columns, view.x + size.width / kx); x++) {
    pen.moveTo(left + x * kx, Math.max(0, top));
    pen.lineTo(left + x * kx, Math.min(size.height, top + rows * ky));
  }
  for (let y = Math.max(0, Math.ceil(view.y)); ky >= 9 && y <= Math.min(rows, view.y + size.height / ky); y++) {
    pen.moveTo(Math.max(0, left), top + y * ky);
    pen.lineTo(Math.min(size.width, left + columns * kx), top + y * ky);
  }
  pen.stroke();
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.strokeRect(left - 0.5, top - 0.5, columns * kx + 1, rows * ky + 1);
  for (const layer of layers) {
    const marked = flat(layer.boxes, array.shape, array.at);
    pen.fillStyle = pen.strokeStyle = layer.colour;
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    pen.globalAlpha = layer.fill;
    for (const [r0, r1, c0, c1] of marked) {
      const [x, y, w, h] = [left + c0 * kx, top + r0 * ky, (c1 - c0 + 1) * kx, (r1 - r0 + 1) * ky];
      if (x > size.width || y > size.height || x + w < 0 || y + h < 0) continue;
      // What is smaller than a pixel is still to be seen.
      pen.fillRect(x, y, Math.max(w, 1.5), Math.max(h, 1.5));
      [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x + w), Math.max(y1, y + h)];
    }
    pen.globalAlpha = 1;
    if (marked.length && x1 >= x0) {
      pen.lineWidth = 1.5;
      if (marked.length === 1) pen.strokeRect(x0, y0, Math.max(x1 - x0, 2), Math.max(y1 - y0, 2));
      // A few cells in a large array: a frame around them, so that they are found.
      if (x1 - x0 < 26 && y1 - y0 < 26) {
        pen.globalAlpha = 0.9;
        const [half, x, y] = [Math.min(15, size.height / 5), (x0 + x1) / 2, (y0 + y1) / 2];
        const within = (at: number, most: number) => Math.min(Math.max(at - half, 1), most - 2 * half - 1);
        pen.strokeRect(within(x, size.width), within(y, size.height), 2 * half, 2 * half);
        pen.globalAlpha = 1;
      }
    }
  }
}
