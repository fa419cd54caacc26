// Where one is: every state of the page is in its URL. In a widget it is kept in memory.
import { signal } from "@preact/signals";

export type Place = Record<string, string>;

const onPage = (): boolean => document.getElementById("whence") !== null;

function read(): Place {
  return onPage() ? Object.fromEntries(new URLSearchParams(location.search)) : {};
}

export const place = signal<Place>(read());

export function href(next: Record<string, string | number | undefined | null>, fresh = false): string {
  const found = new URLSearchParams(merged(next, fresh));
  const text = found.toString();
  return text ? `?${text}` : "?";
}

// What a picture is of: where that changes, how it was zoomed and moved is forgotten.
const PICTURED = ["view", "name", "look", "of", "dst", "kinds", "who", "after", "before", "expand", "inputs", "without", "not_by"];

function merged(next: Record<string, string | number | undefined | null>, fresh: boolean): Place {
  const found: Place = fresh ? {} : { ...place.value };
  for (const [key, value] of Object.entries(next)) {
    if (value === undefined || value === null || value === "") delete found[key];
    else found[key] = String(value);
  }
  const same = (key: string) => found[key] === place.value[key];
  if (!("k" in next) && !(PICTURED.every(same) && (!found.dst || same("src")))) for (const key of ["k", "x", "y"]) delete found[key];
  return found;
}

/** A number of the place; what is none is not there. */
export function numberAt(name: string): number | undefined {
  const found = Number(place.value[name] ?? NaN);
  return Number.isFinite(found) ? found : undefined;
}

/** What the place holds as JSON; what cannot be read is not there. */
export function readAt<T>(name: string, otherwise: T): T {
  try {
    return JSON.parse(place.value[name] ?? "") as T;
  } catch {
    return otherwise;
  }
}

/** A list of names that the place holds. */
export function namesAt(name: string): string[] {
  const found: unknown = readAt(name, []);
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

/** Go elsewhere: what is not named stays as it is, unless `fresh`. */
export function go(next: Record<string, string | number | undefined | null>, how: { fresh?: boolean; replace?: boolean } = {}): void {
  const found = merged(next, how.fresh ?? false);
  if (onPage()) history[how.replace ? "replaceState" : "pushState"](null, "", `/${href(found, true)}`);
  place.value = found;
}

if (typeof window !== "undefined") window.addEventListener("popstate", () => (place.value = read()));

/** Props of a link that stays on the page. */
export function link(next: Record<string, string | number | undefined | null>, fresh = true): { href: string; onClick: (event: MouseEvent) => void } {
  return {
    href: href(next, fresh),
    onClick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      go(next, { fresh });
    },
  };
}
