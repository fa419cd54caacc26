// In a notebook: questions go to the kernel as messages, and come back with the answers.
import { render, type VNode } from "preact";
import type { Transport } from "./ask";

export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, callback: (content: { id: number; status: number; answer?: unknown }, buffers?: DataView[]) => void): void;
}

export function shown(model: Model, inside: HTMLElement, setTransport: (given: Transport) => void, app: () => VNode): void {
  let last = 0;
  const waiting = new Map<number, { done: (found: unknown) => void; failed: (error: Error) => void; binary: boolean }>();
  model.on("msg:custom", (content, buffers) => {
    const asked = waiting.get(content.id);
    if (!asked) return;
    waiting.delete(content.id);
    if (content.status !== 200) asked.failed(new Error((content.answer as { error?: string })?.error ?? `status ${content.status}`));
    else if (asked.binary && buffers?.[0]) asked.done(buffers[0].buffer.slice(buffers[0].byteOffset, buffers[0].byteOffset + buffers[0].byteLength));
    else asked.done(content.answer);
  });
  setTransport((name, params, binary) =>
    new Promise((done, failed) => {
      last += 1;
      waiting.set(last, { done, failed, binary });
      model.send({ id: last, name, params });
    }),
  );
  render(app(), inside);
}
