// The search of the site. It also works from disk, where modules and requests are forbidden: the
// texts and MiniSearch are scripts, loaded when the reader first uses the field.
(() => {
  const form = document.querySelector('form[role=search]');
  const field = form.querySelector('input');
  const list = form.querySelector('.results');
  const root = form.dataset.root;
  let engine;

  const load = (file) =>
    new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = `${root}assets/${file}`;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${file} could not be read`));
      document.head.append(script);
    });

  /** Words, and the parts of names: `RateLimitingQueue` is found by "rate limit". */
  const words = (text) =>
    text
      .split(/[^\p{L}\p{N}_]+/u)
      .flatMap((word) => {
        const parts = word.split(/_|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u);
        return parts.length > 1 ? [word, ...parts] : [word];
      })
      .filter((word) => word !== '');

  const start = async () => {
    await Promise.all([load('minisearch.js'), load('texts.js')]);
    const made = new window.MiniSearch({
      fields: ['heading', 'title', 'text'],
      tokenize: words,
      storeFields: ['heading', 'title', 'url', 'text'],
      searchOptions: {
        boost: { heading: 4, title: 3 },
        prefix: true,
        fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      },
    });
    made.addAll(window.siteTexts);
    return made;
  };

  const note = (text) => {
    const line = document.createElement('p');
    line.textContent = text;
    list.replaceChildren(line);
    list.hidden = false;
  };

  const entry = ({ url, title, heading, text }) => {
    const link = document.createElement('a');
    link.href = root + url;
    link.textContent = heading === '' ? title : `${title}: ${heading}`;
    const excerpt = document.createElement('small');
    excerpt.textContent = text.slice(0, 110);
    link.append(excerpt);
    return link;
  };

  const show = async () => {
    const query = field.value.trim();
    if (query === '') {
      list.hidden = true;
      return;
    }
    try {
      engine ??= start();
      const all = await engine;
      const exact = all.search(query, { combineWith: 'AND' });
      const found = (exact.length > 0 ? exact : all.search(query)).slice(0, 12);
      if (field.value.trim() !== query) return;
      if (found.length === 0) note(`Nothing found for “${query}”.`);
      else {
        list.replaceChildren(...found.map(entry));
        list.hidden = false;
      }
    } catch (error) {
      note(`The search does not work here: ${error.message}.`);
    }
  };

  field.addEventListener('focus', () => {
    engine ??= start();
    engine.catch(() => undefined);
  });
  field.addEventListener('input', show);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    list.querySelector('a')?.click();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') list.hidden = true;
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
    event.preventDefault();
    (links[at] ?? field).focus();
  });
  document.addEventListener('click', (event) => {
    if (!form.contains(event.target)) list.hidden = true;
  });
})();
