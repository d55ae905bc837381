/**
 * The buttons that share a result: as a link that contains it, as Markdown, as JSON. If the browser
 * refuses the clipboard, the text is shown, to be copied by hand.
 */
import { byId, html } from './dom.ts';
import { jsonOf, markdownOf } from './report.ts';
import type { Result } from './result.ts';
import { encodeResult } from './share.ts';

export class ShareButtons {
  readonly #link = byId('copy-link', HTMLButtonElement);
  readonly #markdown = byId('copy-markdown', HTMLButtonElement);
  readonly #download = byId('download', HTMLButtonElement);
  readonly #status = byId('share-status', HTMLElement);
  readonly #text = byId('share-text', HTMLTextAreaElement);
  #result: Result | undefined;
  /** Made ahead, because a browser lets a page write to the clipboard only right after a click. */
  #url = '';

  constructor() {
    this.#link.addEventListener('click', () => void this.#copy(this.#url, 'Link'));
    this.#markdown.addEventListener('click', () => {
      if (this.#result) void this.#copy(markdownOf(this.#result), 'Markdown');
    });
    this.#download.addEventListener('click', () => this.#save());
  }

  /** Offers this result, or nothing. Resolves when the link is made. */
  async offer(result: Result | undefined): Promise<void> {
    this.#result = result;
    this.#url = '';
    this.#status.textContent = '';
    this.#text.hidden = true;
    for (const button of [this.#markdown, this.#download]) button.disabled = result === undefined;
    this.#link.disabled = true;
    if (result === undefined) return;
    const fragment = await encodeResult(result);
    if (this.#result !== result) return;
    this.#url = `${location.origin}${location.pathname}${fragment}`;
    this.#link.disabled = false;
  }

  async #copy(text: string, what: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.#text.hidden = true;
      this.#status.textContent = `${what} copied (${text.length.toLocaleString('en')} characters).`;
    } catch {
      this.#text.value = text;
      this.#text.hidden = false;
      this.#text.select();
      this.#status.textContent = 'The browser refused the clipboard: copy it from the field below.';
    }
  }

  #save(): void {
    if (this.#result === undefined) return;
    const url = URL.createObjectURL(new Blob([jsonOf(this.#result)], { type: 'application/json' }));
    const day = new Date(this.#result.at).toISOString().slice(0, 10);
    html('a', { href: url, download: `capstan-bench-${day}.json` }).click();
    URL.revokeObjectURL(url);
    this.#status.textContent = 'JSON saved.';
  }
}
