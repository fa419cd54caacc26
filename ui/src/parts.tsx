// What all views share: the states of an answer, facts, and how things are saved.
import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Asked } from "./ask";
import { link } from "./place";
import { plain } from "./words";

export function Waiting({ asked, children }: { asked: Asked<unknown>; children?: ComponentChildren }) {
  if (asked.error) return <Failure text={asked.error} />;
  if (!asked.data) return <div class="wait" role="status"><span class="bar" /><span>Asking the log ...</span><Slow /></div>;
  return <>{asked.loading ? <span class="bar over" role="status" aria-label="Asking the log" /> : null}{children}</>;
}

/** What is said when an answer takes longer than most. */
export function Slow() {
  const [late, set] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => set(true), 2500);
    return () => clearTimeout(timer);
  }, []);
  return late ? <span class="late">This takes longer: lineage that is not stored is computed from the sources, by Spark if need be. <code>materialize()</code> stores the lineage of a pipeline.</span> : null;
}

export function Failure({ text }: { text: string }) {
  return <div class="note bad failure" role="alert"><b>That did not work:</b> <span>{plain(text)}.</span> <a {...link({})}>To the project</a></div>;
}

/** What went wrong in drawing is drawn, too, and the page goes on from the next place. */
export class Caught extends Component<{ of: string; children?: ComponentChildren }, { error?: string; of?: string }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  override componentDidUpdate(before: { of: string }) {
    if (this.state.error !== undefined && before.of !== this.props.of) this.setState({ error: undefined });
  }
  override render() {
    return this.state.error === undefined ? this.props.children : <Failure text={this.state.error} />;
  }
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><Mark /><h2>{title}</h2><p>{children}</p></div>;
}

/** An answer that may hold more than the lineage says so, and why. */
export function Superset({ precise, reason }: { precise?: boolean; reason?: string | null }) {
  if (precise !== false) return null;
  return <div class="note more" role="note"><b>At most these.</b> <span>The answer is a superset, because {plain(reason ?? "the log cannot say more")}.</span></div>;
}

/** The mark of whence: two cells, and the way from one to the other. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect x="2" y="13" width="8" height="8" rx="2" class="m1" />
      <rect x="14" y="3" width="8" height="8" rx="2" class="m2" />
      <path d="M14.5 7 H9 a3 3 0 0 0 -3 3 V12" fill="none" class="m3" />
    </svg>
  );
}

export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  const shown = of.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return <dl class="facts">{shown.map(([name, value]) => <div key={name}><dt>{plain(name)}</dt><dd>{typeof value === "string" ? plain(value) : value}</dd></div>)}</dl>;
}

export function save(name: string, kind: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type: kind }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A picture as PNG, at twice its size so that it stays sharp. */
export async function saveAsPng(name: string, svg: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const made = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (made) save(name, "image/png", made);
}

/** The size of an element, kept up to date. */
export function useSize<T extends Element>(): [{ current: T | null }, { width: number; height: number }] {
  const ref = useRef<T | null>(null);
  const [size, set] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const watch = new ResizeObserver(() => {
      const box = element.getBoundingClientRect();
      set((old) => (old.width === box.width && old.height === box.height ? old : { width: box.width, height: box.height }));
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [ref, size];
}

/** Changes when the system's colours do, so that canvases are drawn again. */
export function useDark(): boolean {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, set] = useState(query.matches);
  useEffect(() => {
    const changed = () => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return dark;
}
