/**
 * Which files of the repository are pages of the site, with their addresses and titles. All pages
 * of docs/ are; so is each other file that one of them links to, below source/.
 */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The sections, in the order of the navigation. */
export const SECTIONS = [
  ['start', 'Start'],
  ['tutorial', 'Tutorial'],
  ['concepts', 'Concepts'],
  ['guides', 'Guides'],
  ['runtimes', 'Runtimes'],
  ['operate', 'Operate'],
  ['reference', 'Reference'],
  ['evidence', 'Evidence'],
  ['project', 'Project'],
];

/** Files outside of docs/ that are in the navigation. */
const ELSEWHERE = {
  'README.md': { url: 'index.html', title: 'Capstan', order: 0 },
  'ARCHITECTURE.md': { url: 'project/architecture.html', title: 'Architecture', order: 10 },
  'CONTRIBUTING.md': { url: 'project/contributing.html', title: 'Contributing', order: 30 },
  'SECURITY.md': { url: 'project/security.html', title: 'Security', order: 60 },
  'CHANGELOG.md': { url: 'project/changelog.html', title: 'Changelog', order: 70 },
};

const MARKDOWN_LINK = /\]\(([^)#\s]+)(?:#[^)]*)?\)/g;
const PICTURE = /\.(?:png|svg)$/;

const read = (path) => readFileSync(`${ROOT}${path}`, 'utf8');

/** The front matter, of which titles, numbers and sentences are used, and the rest of the page. */
export function split(text) {
  const found = /^---\n([\s\S]*?)\n---\n/.exec(text);
  if (found === null) return { data: {}, content: text };
  const lines = found[1].split('\n').map((line) => /^(\w+): (.*)$/.exec(line) ?? []);
  const data = Object.fromEntries(
    lines.map(([, name, value]) => [name, value?.replace(/^"(.*)"$/, '$1')]),
  );
  return { data, content: text.slice(found[0].length) };
}

/** The file of the repository that a link leads to. A folder is its README. */
export function targetOf(source, link) {
  const path = posix.normalize(posix.join(dirname(source), link)).replace(/\/$/, '');
  const full = `${ROOT}${path}`;
  if (!existsSync(full)) throw new Error(`${source}: the link to ${link} leads nowhere`);
  return statSync(full).isDirectory() ? `${path}/README.md` : path;
}

function withoutCode(text) {
  return text.replaceAll(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, '').replaceAll(/`[^`\n]*`/g, '');
}

function linksOf(source) {
  const links = [...withoutCode(read(source)).matchAll(MARKDOWN_LINK)].map(([, link]) => link);
  return links.filter((link) => !link.includes(':')).map((link) => targetOf(source, link));
}

function pageOf(source) {
  const known = ELSEWHERE[source];
  if (known !== undefined) return { source, description: '', ...known };
  if (source.startsWith('docs/') && source !== 'docs/README.md') {
    const { data } = split(read(source));
    const { title, order, description } = data;
    if (title === undefined || order === undefined || description === undefined)
      throw new Error(`${source}: expected front matter with title, order and description`);
    const url = source.slice('docs/'.length).replace(/md$/, 'html');
    return { source, url, title, order: Number(order), description };
  }
  const url = `source/${source.replace(/\.md$/, '')}.html`;
  return { source, url, title: source, order: 0, description: '' };
}

/** All pages by source, and all pictures. */
export function collect() {
  const pages = new Map();
  const pictures = new Set();
  const open = [
    ...Object.keys(ELSEWHERE).filter((path) => existsSync(`${ROOT}${path}`)),
    ...globSync('docs/*/**/*.md', { cwd: ROOT }).sort(),
  ];
  for (let source = open.pop(); source !== undefined; source = open.pop()) {
    if (PICTURE.test(source)) pictures.add(source);
    else if (!pages.has(source)) {
      pages.set(source, pageOf(source));
      if (source.endsWith('.md')) open.push(...linksOf(source));
    }
  }
  return { pages, pictures };
}

/** Where a picture lies in the site. */
export const pictureUrl = (source) => source.replace(/^docs\//, '');

/** From one page of the site to another, relative, so that the site works at any address. */
export const relative = (from, to) => posix.relative(dirname(from), to) || posix.basename(to);
