/**
 * Builds the site: Eleventy's pages, the reference that `npm run docs` has made, the texts of the
 * search; then checks that each link, heading and picture is there. `npm run docs:site` runs it.
 */
import { copyFileSync, cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import Eleventy from '@11ty/eleventy';
import { Parser } from 'htmlparser2';
import { ROOT } from './pages.js';

const OUT = `${ROOT}build/site`;
const LONGEST = 3000; // characters of a part of a page that the search knows

/** Addresses, names of headings and text of a page of the site. */
function readPage(html) {
  const page = { title: '', ids: new Set(), links: [], parts: [{ heading: '', id: '', text: '' }] };
  let inMain = false;
  let inHeading = false;
  let inTitle = false;
  const parser = new Parser({
    onopentag(name, { id, href, src }) {
      if (id !== undefined) page.ids.add(id);
      for (const link of [href, src]) if (link !== undefined) page.links.push(link);
      if (name === 'main') inMain = true;
      if (name === 'title') inTitle = true;
      if (inMain && /^h[23]$/.test(name)) {
        inHeading = true;
        page.parts.push({ heading: '', id: id ?? '', text: '' });
      }
    },
    ontext(text) {
      if (inTitle) page.title += text;
      if (!inMain) return;
      const part = page.parts.at(-1);
      if (inHeading) part.heading += text;
      else if (part.text.length < LONGEST) part.text += text;
    },
    onclosetag(name) {
      if (name === 'main') inMain = false;
      if (name === 'title') inTitle = false;
      if (/^h[23]$/.test(name)) inHeading = false;
    },
  });
  parser.end(html);
  return page;
}

rmSync(OUT, { recursive: true, force: true });
process.chdir(ROOT);
const eleventy = new Eleventy(undefined, undefined, {
  configPath: 'tools/site/eleventy.config.js',
  quietMode: true,
});
await eleventy.write();
cpSync(`${ROOT}build/docs`, `${OUT}/api`, { recursive: true });
const modules = fileURLToPath(new URL('node_modules/', import.meta.url));
copyFileSync(`${modules}minisearch/dist/umd/index.js`, `${OUT}/assets/minisearch.js`);

const files = new Set(globSync('**/*.*', { cwd: OUT }));
const pages = new Map();
for (const file of files)
  if (file.endsWith('.html')) pages.set(file, readPage(readFileSync(`${OUT}/${file}`, 'utf8')));

const texts = [];
for (const [url, { title, parts }] of pages) {
  if (url.startsWith('source/')) continue;
  const name = title.replace(/ · Capstan$| \| Capstan.*$/, '');
  // The reference has a page for each export, of which the name and the first words are enough.
  for (const { heading, id, text } of url.startsWith('api/') ? parts.slice(0, 1) : parts) {
    const address = id === '' ? url : `${url}#${id}`;
    const known = url.startsWith('api/') ? '' : text.replaceAll(/\s+/g, ' ').trim();
    texts.push({
      id: texts.length,
      url: address,
      title: name,
      heading: heading.trim(),
      text: known,
    });
  }
}
writeFileSync(`${OUT}/assets/texts.js`, `window.siteTexts = ${JSON.stringify(texts)};\n`);

const broken = [];
for (const [file, { links }] of pages) {
  for (const link of links) {
    if (/^(?:[a-z]+:|\/\/)/.test(link)) continue;
    const [path, heading = ''] = link.split('#');
    const target = path === '' ? file : posix.normalize(posix.join(posix.dirname(file), path));
    const page = pages.get(decodeURI(target));
    if (link.startsWith('/')) broken.push(`${file}: ${link} works on a server only`);
    else if (page === undefined && !files.has(decodeURI(target))) broken.push(`${file}: ${link}`);
    else if (heading !== '' && page !== undefined && !page.ids.has(decodeURIComponent(heading)))
      broken.push(`${file}: ${link} has no such heading`);
  }
}
for (const line of broken) console.error(line);
const own = [...pages.keys()].filter((url) => !/^(?:api|source)\//.test(url)).length;
const links = [...pages.values()].reduce((sum, page) => sum + page.links.length, 0);
console.log(
  `${own} pages and ${pages.size - own} of the reference and the sources in build/site; ` +
    `${links} links checked, ${broken.length} broken`,
);
if (broken.length > 0) process.exitCode = 1;
