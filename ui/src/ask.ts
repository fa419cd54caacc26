// Questions to the log. The page asks over HTTP; a widget sets `transport` and asks the kernel.
import { useEffect, useState } from "preact/hooks";

export type Params = Record<string, string | number | undefined | null>;
export type Transport = (name: string, params: Record<string, string>, binary: boolean) => Promise<unknown>;

async function overHttp(name: string, params: Record<string, string>, binary: boolean): Promise<unknown> {
  const reply = await fetch(`/api/${name}?${new URLSearchParams(params)}`, { credentials: "same-origin" });
  if (!reply.ok) {
    const told = await reply.text();
    let error = told;
    try {
      error = (JSON.parse(told) as { error?: string }).error ?? told;
    } catch {
      /* the text itself is the message */
    }
    throw new Error(error || `status ${reply.status}`);
  }
  return binary ? reply.arrayBuffer() : reply.json();
}

let transport: Transport = overHttp;
export function setTransport(given: Transport): void {
  transport = given;
}

function cleaned(params: Params): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") found[key] = String(value);
  }
  return found;
}

// How many questions are on their way, on the page for all to see: for styles, and for whoever drives the page.
let waiting = 0;
function noted<T>(promise: Promise<T>): Promise<T> {
  const told = (by: number) => {
    waiting += by;
    document.documentElement.dataset.whenceAsking = String(waiting);
  };
  told(1);
  return promise.finally(() => told(-1));
}

// Questions that are asked before a view does: the first picture need not wait for what stands in the page's head.
const early = new Map<string, Promise<unknown>>();
const keyOf = (name: string, params: Params): string => `${name}?${JSON.stringify(cleaned(params))}`;

export function askEarly(name: string, params: Params): void {
  const found = noted(transport(name, cleaned(params), false));
  found.catch(() => undefined); // whoever asks next gets the error
  early.set(keyOf(name, params), found);
}

export function ask<T>(name: string, params: Params = {}): Promise<T> {
  const key = keyOf(name, params);
  const known = early.get(key);
  if (!known) return noted(transport(name, cleaned(params), false) as Promise<T>);
  early.delete(key);
  return known as Promise<T>;
}

export function askBytes(name: string, params: Params): Promise<ArrayBuffer> {
  return noted(transport(name, cleaned(params), true) as Promise<ArrayBuffer>);
}

export interface Asked<T> {
  data?: T;
  error?: string;
  loading: boolean;
  /** Whether `data` answers the question as it is now, and not the one before. */
  fresh?: boolean;
}

/** The answer to a question; while a new one is on its way, the old one stays. `null` asks nothing. */
export function useAnswer<T>(name: string, params: Params | null): Asked<T> {
  const key = params === null ? null : keyOf(name, params);
  const [state, set] = useState<Asked<T> & { key?: string | null }>({ loading: key !== null });
  useEffect(() => {
    if (key === null) {
      set({ loading: false, key });
      return;
    }
    let live = true;
    set((old) => ({ data: old.data, loading: true, key }));
    ask<T>(name, params!).then(
      (data) => live && set({ data, loading: false, key }),
      (error: Error) => live && set({ error: error.message, loading: false, key }),
    );
    return () => {
      live = false;
    };
  }, [key]);
  return { ...state, fresh: !state.loading && state.key === key };
}
