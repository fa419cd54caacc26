// Search: what is called so, anywhere in the log.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "./ask";
import { go } from "./place";
import { count, plain, when } from "./words";

interface Found {
  found: { id: string; kind: string; about: string; when: string | null; failed: boolean }[];
  count: number;
}

const COMBOBOX = { role: "combobox" } as object; // its type asks for a <datalist>, and the list is our own

export function Search() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const [entered, setEntered] = useState(false); // before what was found had arrived
  const input = useRef<HTMLInputElement>(null);
  const asked = useAnswer<Found>("search", text.trim() ? { q: text.trim() } : null);
  const found = text.trim() ? (asked.data?.found ?? []) : [];
  const take = (id: string) => {
    setOpen(false);
    setText("");
    setAt(0);
    input.current?.blur();
    go({ id, of: id }, { fresh: true });
  };
  useEffect(() => {
    if (!entered || !asked.fresh) return;
    setEntered(false);
    if (found[at]) take(found[at]!.id);
  }, [entered, asked.fresh]);
  useEffect(() => {
    const slash = (event: KeyboardEvent) => {
      if (event.key !== "/" || (event.target as Element).closest("input, select, textarea")) return;
      event.preventDefault();
      input.current?.focus();
    };
    window.addEventListener("keydown", slash);
    return () => window.removeEventListener("keydown", slash);
  }, []);
  const shown = open && text.trim() !== "";
  return (
    <div class="search" onFocusOut={(event) => { if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) setOpen(false); }}>
      <input
        ref={input}
        type="search"
        {...COMBOBOX}
        aria-label="Search the log"
        aria-expanded={shown}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={shown && found.length ? `found-${at}` : undefined}
        placeholder="Search  /"
        value={text}
        onFocus={() => setOpen(true)}
        onInput={(event) => { setText(event.currentTarget.value); setAt(0); setEntered(false); setOpen(true); }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
          else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
          else if (event.key === "Enter" && text.trim()) setEntered(true);
          else if (event.key === "Escape") { setOpen(false); input.current?.blur(); } else return;
          event.preventDefault();
        }}
      />
      <div id="found" role="listbox" aria-label="Found" hidden={!shown || !found.length}>
        {found.slice(0, 12).map((each, number) => (
          <div key={each.id} id={`found-${number}`} role="option" aria-selected={number === at} onMouseDown={(event) => { event.preventDefault(); take(each.id); }}>
            <b>{plain(each.id)}</b><small>{plain(each.about)} {when(each.when)}</small>
          </div>
        ))}
      </div>
      {shown && !found.length && asked.data && !asked.loading ? <div class="none" role="status">Nothing is called so.</div> : null}
      {shown && asked.data && asked.data.count > 12 ? <span class="sr" role="status">{count(asked.data.count)} found</span> : null}
    </div>
  );
}
