// Numbers, times and names as people read them.
const many = new Intl.NumberFormat("en");

export const count = (value: number): string => many.format(value);

export const counted = (value: number, thing: string, things = `${thing}s`): string => `${count(value)} ${value === 1 ? thing : things}`;

export function size(bytes: number): string {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (bytes < 1000 || unit === "GB") return `${unit === "B" ? bytes : bytes.toFixed(1)} ${unit}`;
    bytes /= 1000;
  }
  return "";
}

export const took = (ms: number): string => (ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export function when(text?: string | null): string {
  if (!text) return "";
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  return time.toISOString().slice(0, 16).replace("T", " ");
}

export function short(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/** Text with marks for what has no shape of its own: controls, and what turns the direction of writing. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu, (letter) => {
    const code = letter.codePointAt(0)!;
    return code === 10 || code === 9 ? " " : `\u2039${code.toString(16).toUpperCase().padStart(4, "0")}\u203a`;
  });
}

export const sides = (shape: number[]): string => (shape.length ? shape.map(count).join(" \u00d7 ") : "one cell");
