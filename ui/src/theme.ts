// Colours for the canvas, read from the style sheet, so that both know one palette.
export interface Theme {
  ink: string;
  faint: string;
  line: string;
  paper: string;
  card: string;
  sunk: string;
  data: string;
  dataLine: string;
  act: string;
  actLine: string;
  bad: string;
  badLine: string;
  from: string;
  to: string;
  used: string;
  made: string;
  focus: string;
  low: string;
  high: string;
  lost: string;
}

const NAMES = ["ink", "faint", "line", "paper", "card", "sunk", "data", "dataLine", "act", "actLine", "bad", "badLine", "from", "to", "used", "made", "focus", "low", "high", "lost"] as const;

export function theme(element: Element): Theme {
  const style = getComputedStyle(element);
  const found = {} as Record<(typeof NAMES)[number], string>;
  for (const name of NAMES) found[name] = style.getPropertyValue(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`).trim();
  return found as unknown as Theme;
}

/** Sets a canvas to the size that it has on the page, in device pixels, and scales its pen to match. */
export function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}
