// The whole of a picture that is larger than its window, with a frame around what is seen; a click moves there.
import { useEffect, useRef } from "preact/hooks";
import { lookOf, type Picture, type View } from "./graph";
import { useDark } from "./parts";
import { fitted, theme } from "./theme";

const [WIDTH, HEIGHT] = [190, 90];

export function Minimap({ picture, size, now, onMove }: {
  picture: Picture;
  size: { width: number; height: number };
  now: View;
  onMove: (x: number, y: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  const most = Math.min(WIDTH, Math.max(70, size.width - 236)); // beside the buttons
  const k = Math.min(most / picture.width, HEIGHT / picture.height);
  const [width, height] = [Math.max(40, picture.width * k), Math.max(14, picture.height * k)];
  const [left, top] = [(width - picture.width * k) / 2, (height - picture.height * k) / 2];
  const isWhole = picture.width * now.k <= size.width + 4 && picture.height * now.k <= size.height + 4;
  useEffect(() => {
    if (!canvas.current) return;
    const pen = fitted(canvas.current, width, height);
    const colours = theme(canvas.current);
    pen.translate(left, top);
    pen.scale(k, k);
    for (const line of picture.lines) {
      const p = line.points;
      pen.beginPath();
      pen.moveTo(p[0]!, p[1]!);
      for (let i = 2; i + 5 < p.length; i += 6) pen.bezierCurveTo(p[i]!, p[i + 1]!, p[i + 2]!, p[i + 3]!, p[i + 4]!, p[i + 5]!);
      pen.strokeStyle = colours.line;
      pen.lineWidth = 0.8 / k;
      pen.stroke();
    }
    for (const node of picture.nodes) {
      pen.fillStyle = lookOf(node, colours)[1];
      const tall = Math.max(node.h, 3 / k);
      pen.fillRect(node.x - node.w / 2, node.y - tall / 2, node.w, tall);
    }
    pen.setTransform(window.devicePixelRatio || 1, 0, 0, window.devicePixelRatio || 1, 0, 0);
    const inside = (at: number, side: number) => Math.min(Math.max(at, 1), side - 1);
    const [x0, x1] = [-now.x, size.width - now.x].map((x) => inside(left + (x / now.k) * k, width)) as [number, number];
    const [y0, y1] = [-now.y, size.height - now.y].map((y) => inside(top + (y / now.k) * k, height)) as [number, number];
    pen.beginPath();
    pen.rect(0, 0, width, height);
    pen.rect(x0, y0, x1 - x0, y1 - y0);
    pen.fillStyle = colours.sunk;
    pen.globalAlpha = 0.6;
    pen.fill("evenodd");
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.focus;
    pen.lineWidth = 1.5;
    pen.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }, [picture, size, now, dark, k, isWhole]);
  if (isWhole) return null;
  const move = (event: PointerEvent) => {
    const rect = canvas.current!.getBoundingClientRect();
    onMove((event.clientX - rect.left - left) / k, (event.clientY - rect.top - top) / k);
  };
  return (
    <canvas
      class="map"
      ref={canvas}
      aria-hidden="true"
      style={{ width: `${width}px`, height: `${height}px` }}
      onPointerDown={(event) => {
        event.stopPropagation();
        canvas.current!.setPointerCapture(event.pointerId);
        move(event);
      }}
      onPointerMove={(event) => {
        event.stopPropagation();
        if (event.buttons) move(event);
      }}
    />
  );
}
