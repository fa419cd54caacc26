// The explorer: a page on a log, or, as an anywidget, the same views in a notebook.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { askEarly, setTransport, useAnswer } from "./ask";
import { ArrayView } from "./array";
import { Chooser, Pipelines, Start, StoryView } from "./lists";
import { Caught, Mark, Waiting } from "./parts";
import { PipelineView } from "./pipeline";
import { href, link, place } from "./place";
import { filters, Project, type Summary } from "./project";
import { Search } from "./search";
import { RowsOf, Still, type StillThing } from "./still";
import css from "./style.css";
import { TableView } from "./table";
import { shown, type Model } from "./widget";
import { plain } from "./words";

function App() {
  const here = place.value;
  const view = here.view ?? "project";
  const asked = useAnswer<Summary>("summary", {});
  const summary = asked.data;
  useEffect(() => {
    if (document.getElementById("whence")) document.title = [here.name ? `${here.name}${here.cells ? `[${here.cells}]` : ""}` : here.id, "whence"].filter(Boolean).map((each) => plain(each!)).join(" \u2013 ");
  }, [here]);
  const tabs: [string, string][] = [["project", "Project"], ["array", "Arrays"], ["table", "Tables"], ["pipeline", "Pipelines"]];
  return (
    <div class="whence">
      <a class="skip" href="#main">To the content</a>
      <header class="head">
        <a class="brand" {...link({})}><Mark />whence</a>
        <nav aria-label="Views">{tabs.map(([name, title]) => <a key={name} {...link(name === "project" ? {} : { view: name })} aria-current={view === name ? "page" : undefined}>{title}</a>)}</nav>
        <Search />
      </header>
      <div id="main" tabIndex={-1}>
        <Caught of={href({})}>
        <Waiting asked={asked}>
          {summary ? (
            summary.vertices === 0 ? <Start where={summary.where} />
            : view === "array" ? (here.name ? <ArrayView key="array" /> : <Chooser kind="array" />)
            : view === "table" ? (here.name ? <TableView key={here.name} /> : <Chooser kind="table" />)
            : view === "pipeline" ? (here.name ? <PipelineView key={here.name} /> : <Pipelines />)
            : view === "story" && here.name ? <StoryView />
            : <Project summary={summary} />
          ) : null}
        </Waiting>
        </Caught>
      </div>
    </div>
  );
}

const sheet = (): CSSStyleSheet => {
  const made = new CSSStyleSheet();
  made.replaceSync(css);
  return made;
};

const root = document.getElementById("whence");
if (root) {
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet()];
  document.documentElement.classList.add("whence-page");
  const { view, of, dst } = place.value;
  if (!view && !of && !dst) askEarly("overview", filters());
  render(<App />, root);
}

/** What anywidget calls: the views in a shadow root, so that a notebook's styles and ours leave each other alone. */
export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const shadow = el.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet()];
    const inside = document.createElement("div");
    inside.className = "whence-widget";
    shadow.append(inside);
    const still = model.get("still") as StillThing | undefined;
    if (still?.kind === "picture" || still?.kind === "cells") render(<Still thing={still} />, inside);
    else {
      if (still?.kind === "array" || still?.kind === "pipeline") place.value = { view: still.kind, ...still.place };
      shown(model, inside, setTransport, () => (still?.kind === "array" ? <div class="whence"><ArrayView /></div> : still?.kind === "rows" ? <RowsOf thing={still} /> : <App />));
    }
    return () => render(null, inside);
  },
};
