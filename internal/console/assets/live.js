// Follows what happens: when there is something new, the page's content is fetched again, unless somebody is about to use a form.
"use strict";
(() => {
  const news = document.getElementById("news");
  if (!news || !window.EventSource) return;
  let last = null;
  const busy = () => {
    const at = document.activeElement;
    return at && at.closest("form, .question, details") !== null || document.querySelector(".question:hover, details[open]") !== null;
  };
  const long = () => new URLSearchParams(location.search).has("before") || document.querySelectorAll(".chunk").length > 4;
  const refresh = async () => {
    if (busy() || long()) {
      news.querySelector("a").href = location.href;
      news.hidden = false;
      return;
    }
    const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (busy()) return;
    for (const part of ["main", "nav"]) {
      const to = document.querySelector(part), from = fresh.querySelector(part);
      if (to && from) to.replaceWith(document.adoptNode(from));
    }
  };
  // A browser keeps few connections to one host, so a tab that nobody looks at has none.
  let source = null;
  const listen = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource("/live");
      source.onmessage = (e) => {
        if (last !== null && last !== e.data) refresh();
        last = e.data;
      };
    }
  };
  document.addEventListener("visibilitychange", listen);
  listen();
})();
