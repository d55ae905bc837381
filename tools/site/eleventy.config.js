/**
 * The site by Eleventy: Markdown becomes static HTML with relative addresses, so that it can be
 * read from disk. `npm run docs:site` runs it and then adds the reference and the search.
 */
import { globSync, readFileSync } from 'node:fs';
import markdownIt from 'markdown-it';
import anchor from 'markdown-it-anchor';
import { createHighlighter } from 'shiki';
import { collect, pictureUrl, ROOT, relative, SECTIONS, split, targetOf } from './pages.js';

const { pages, pictures } = collect();
const LANGUAGES = { ts: 'ts', mjs: 'js', js: 'js', json: 'json', yaml: 'yaml', sh: 'sh', go: 'go' };

const highlighter = await createHighlighter({
  themes: ['github-light', 'github-dark'],
  langs: ['ts', 'js', 'sh', 'json', 'yaml', 'go', 'toml', 'html', 'docker'],
});

function highlight(code, info) {
  const [name = ''] = info.split(' ');
  const lang = highlighter.getLoadedLanguages().includes(name) ? name : 'text';
  return highlighter.codeToHtml(code, {
    lang,
    themes: { light: 'github-light', dark: 'github-dark' },
    defaultColor: false,
  });
}

/** As GitHub makes the names of headings. */
const slugify = (text) =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** A link of a page of the repository as a link of the site. */
function link(source, href) {
  if (href.includes(':') || href.startsWith('#')) return href;
  const [path, heading] = href.split('#');
  const target = targetOf(source, path);
  const from = pages.get(source).url;
  const to = pictures.has(target) ? pictureUrl(target) : pages.get(target).url;
  return relative(from, to) + (heading === undefined ? '' : `#${heading}`);
}

const markdown = markdownIt({ html: true, linkify: false, highlight });
markdown.use(anchor, { slugify, level: [2, 3, 4], permalink: anchor.permalink.headerLink() });

/** Where the reference has an export of the package, by name. */
const reference = new Map(
  globSync('*/*.html', { cwd: `${ROOT}build/docs` }).flatMap((file) => {
    const name = /\.(\w+)\.html$/.exec(file)?.[1];
    return name === undefined ? [] : [[name, `api/${file}`]];
  }),
);

markdown.core.ruler.push('links', ({ tokens, env }) => {
  for (const token of tokens) {
    let inLink = token.type === 'inline' && env.inHeading;
    env.inHeading = token.type === 'heading_open'; // a heading is a link to itself
    for (const child of token.children ?? []) {
      if (child.type === 'link_open')
        child.attrSet('href', link(env.source, child.attrGet('href')));
      if (child.type === 'image') child.attrSet('src', link(env.source, child.attrGet('src')));
      if (/^link_/.test(child.type)) inLink = child.type === 'link_open';
      const entry = child.type === 'code_inline' && reference.get(child.content.replace('()', ''));
      if (entry && !inLink) child.meta = { entry: relative(pages.get(env.source).url, entry) };
    }
  }
});
const plainCode = markdown.renderer.rules.code_inline;
markdown.renderer.rules.code_inline = (tokens, at, ...rest) => {
  const code = plainCode(tokens, at, ...rest);
  const { meta } = tokens[at];
  return meta === null ? code : `<a class="entry" href="${meta.entry}">${code}</a>`;
};
// Wide tables scroll by themselves: the page must fit a phone.
markdown.renderer.rules.table_open = () => '<div class="table"><table>\n';
markdown.renderer.rules.table_close = () => '</table></div>\n';

function sectionOf(url) {
  return SECTIONS.find(([folder]) => url.startsWith(`${folder}/`))?.[0];
}

const navigation = SECTIONS.map(([folder, title]) => ({
  folder,
  title,
  pages: [...pages.values()]
    // Pages in folders below, such as those of the error codes, are reached by a table.
    .filter(({ url }) => sectionOf(url) === folder && url.split('/').length === 2)
    .sort((a, b) => a.order - b.order || a.title.localeCompare(b.title)),
})).filter((section) => section.pages.length > 0);
const inOrder = navigation.flatMap((section) => section.pages);

/** The text of a page: Markdown as it stands, other files as one block of code. */
function textOf({ source }) {
  const { content } = split(readFileSync(`${ROOT}${source}`, 'utf8'));
  if (source.endsWith('.md')) return content;
  const language = LANGUAGES[source.split('.').pop()] ?? '';
  return `# ${source}\n\n\`\`\`\`\`${language}\n${content.trimEnd()}\n\`\`\`\`\`\n`;
}

export default function configure(config) {
  config.setLibrary('md', markdown);
  config.addPassthroughCopy({ 'tools/site/assets': 'assets' });
  for (const picture of pictures) config.addPassthroughCopy({ [picture]: pictureUrl(picture) });
  config.addFilter('from', (to, from) => relative(from, to));
  config.addFilter('headings', (html) =>
    [...html.matchAll(/<h2 id="([^"]*)"[^>]*>([\s\S]*?)<\/h2>/g)].map(([, id, text]) => ({
      id,
      text: text.replaceAll(/<\/?a\b[^>]*>/g, ''),
    })),
  );
  for (const page of pages.values()) {
    const at = inOrder.indexOf(page);
    config.addTemplate(`${page.url}.md`, textOf(page), {
      ...page,
      permalink: page.url,
      layout: 'page.njk',
      section: sectionOf(page.url) ?? '',
      navigation,
      previous: at > 0 ? inOrder[at - 1] : undefined,
      next: at >= 0 ? inOrder[at + 1] : undefined,
    });
  }
  return {
    dir: { input: 'tools/site/assets', includes: '../layouts', output: 'build/site' },
    markdownTemplateEngine: false,
  };
}
