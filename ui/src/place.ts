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

function merged(next: Record<string, string | number | undefined | null>, fresh: boolean): Place {
  const found: Place = fresh ? {} : { ...place.value };
  for (const [key, value] of Object.entries(next)) {
    if (value === undefined || value === null || value === "") delete found[key];
    else found[key] = String(value);
  }
  return found;
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
