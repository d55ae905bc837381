/**
 * The OpenAPI documents of a server: those of built-in kinds come from an archive of a real
 * kube-apiserver, unpacked by the first request of the process; those of custom kinds are made on
 * request and kept until a definition changes.
 */
import { createHash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import { type JsonObject, memberObject, writeJson } from '../json.ts';
import type { Kind, Kinds } from '../registry/kinds.ts';
import { documentName, type Parts, partOf } from './custom.ts';

export interface Document {
  text: string;
  /** The hash of the text. */
  hash: string;
}

type Archive = ReadonlyMap<string, () => Document>;

const documentOf = (text: string): Document => ({
  text,
  hash: createHash('sha512').update(text).digest('hex').toUpperCase(),
});

let archive: Promise<Archive> | undefined;

async function unpack(): Promise<Archive> {
  const { ARCHIVE } = await import('./archive.ts');
  const all = brotliDecompressSync(Buffer.from(ARCHIVE, 'base64'));
  let at = all.indexOf('\n') + 1;
  const index = JSON.parse(all.toString('utf8', 0, at)) as [name: string, length: number][];
  return new Map(
    index.map(([name, length]) => {
      const bytes = all.subarray(at, at + length);
      at += length;
      let built: Document | undefined;
      const document = (): Document => {
        built ??= documentOf(bytes.toString('utf8'));
        return built;
      };
      return [name, document];
    }),
  );
}

/** The documents for one state of the kinds. */
interface State {
  kinds: readonly Kind[];
  /** By what follows `/openapi/v3/`. */
  v3: Map<string, () => Document>;
  v2: () => Document;
}

export class Documents {
  readonly #kinds: Kinds;
  #state: State | undefined;

  constructor(kinds: Kinds) {
    this.#kinds = kinds;
  }

  /** The index of the v3 documents, as text. */
  async index(): Promise<string> {
    const { v3 } = await this.#current();
    const paths = [...v3].map(([name, document]) => [
      name,
      { serverRelativeURL: `/openapi/v3/${name}?hash=${document().hash}` },
    ]);
    return JSON.stringify({ paths: Object.fromEntries(paths) });
  }

  /** @param name as in the index */
  async v3(name: string): Promise<Document | undefined> {
    return (await this.#current()).v3.get(name)?.();
  }

  async v2(): Promise<Document> {
    return (await this.#current()).v2();
  }

  async #current(): Promise<State> {
    archive ??= unpack();
    const known = await archive;
    const kinds = this.#kinds.all().filter((kind) => !kind.builtIn && kind.known);
    const had = this.#state;
    // A changed kind is a new object.
    if (had?.kinds.length === kinds.length && kinds.every((kind, at) => kind === had.kinds[at]))
      return had;
    this.#state = stateOf(known, kinds);
    return this.#state;
  }
}

const once = (make: () => Document): (() => Document) => {
  let built: Document | undefined;
  return () => {
    built ??= make();
    return built;
  };
};

function stateOf(known: Archive, kinds: readonly Kind[]): State {
  const parsed = (name: string): JsonObject => JSON.parse(known.get(name)?.().text ?? '{}');
  const v3 = new Map<string, () => Document>();
  for (const [name, document] of known) {
    if (name.startsWith('v3/')) v3.set(name.slice(3), document);
  }
  for (const [name, group] of Map.groupBy(kinds, documentName)) {
    const make = (): Document => {
      const pattern = parsed('custom/v3');
      const { paths, schemas } = combined(group, partsOf(pattern, 'components'), false);
      const components = { ...memberObject(pattern, 'components'), schemas };
      return documentOf(writeJson({ ...pattern, paths, components }));
    };
    v3.set(name, once(make));
  }
  const v2 = (): Document => {
    const own = known.get('v2')?.() ?? documentOf('{}');
    if (kinds.length === 0) return own;
    const document = JSON.parse(own.text) as JsonObject;
    const parts = combined(kinds, partsOf(parsed('custom/v2')), true);
    return documentOf(
      writeJson({
        ...document,
        paths: { ...memberObject(document, 'paths'), ...parts.paths },
        definitions: { ...memberObject(document, 'definitions'), ...parts.schemas },
      }),
    );
  };
  const sorted = [...v3].sort(([a], [b]) => (a < b ? -1 : 1));
  return { kinds, v3: new Map(sorted), v2: once(v2) };
}

const partsOf = (document: JsonObject, under?: 'components'): Parts => ({
  paths: memberObject(document, 'paths'),
  schemas:
    under === undefined
      ? memberObject(document, 'definitions')
      : memberObject(memberObject(document, under), 'schemas'),
});

function combined(kinds: readonly Kind[], pattern: Parts, v2: boolean): Parts {
  const parts = kinds.map((kind) => partOf(kind, pattern, v2));
  return {
    paths: Object.assign({}, ...parts.map(({ paths }) => paths)),
    schemas: Object.assign({}, ...parts.map(({ schemas }) => schemas)),
  };
}
