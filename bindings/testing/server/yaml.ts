/**
 * YAML, which clients may send and ask for in place of JSON, by the optional peer `yaml`. As the
 * real server reads it, a document is what its JSON would be, and members are written in the order
 * of their names.
 */
import { type Json, sorted } from './json.ts';
import { badRequest, unsupportedMediaType } from './status.ts';

type Library = typeof import('yaml');
let library: Promise<Library | undefined> | undefined;

/** Throws 415 where the peer is not installed. */
async function peer(): Promise<Library> {
  library ??= import('yaml').catch(() => undefined);
  const loaded = await library;
  if (loaded !== undefined) return loaded;
  const error = unsupportedMediaType(['application/json']);
  error.body.message = `${error.message} (YAML needs the package "yaml" beside capstan)`;
  throw error;
}

/** A body as JSON, and what its own language has against it. */
export interface Sent {
  text: string;
  /** `line 4: key "metadata" already set in map` */
  problems: readonly string[];
}

/** The JSON text of a document. Throws 400 for what is none. */
export async function jsonOfYaml(text: string): Promise<Sent> {
  const { parseDocument, visit, LineCounter } = await peer();
  const lineCounter = new LineCounter();
  try {
    // go-yaml reads `yes` as true, as YAML 1.1 does, and takes the last of two members.
    const document = parseDocument(text, { version: '1.1', uniqueKeys: false, lineCounter });
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const problems: string[] = [];
    visit(document, {
      Map(_, map) {
        const seen = new Set<string>();
        for (const { key } of map.items) {
          const { value, range } = key as { value?: unknown; range?: readonly number[] };
          const name = String(value ?? key);
          if (seen.has(name)) {
            const { line } = lineCounter.linePos(range?.[0] ?? 0);
            problems.push(`line ${line}: key ${JSON.stringify(name)} already set in map`);
          }
          seen.add(name);
        }
      },
    });
    return { text: JSON.stringify(document.toJS() ?? null), problems };
  } catch (error) {
    const [line = ''] = String((error as Error).message).split('\n');
    throw badRequest(`error converting YAML to JSON: yaml: ${line}`);
  }
}

/** The document of a JSON text. */
export async function yamlOfJson(json: string): Promise<string> {
  const { stringify } = await peer();
  return stringify(sorted(JSON.parse(json) as Json), { version: '1.1', lineWidth: 0 });
}

/** An apply patch is YAML by its type; most clients write the part of YAML that is JSON. */
export async function jsonOfApply(body: string): Promise<Sent> {
  if (/^\s*([{[]|$)/.test(body)) return { text: body, problems: [] };
  return jsonOfYaml(body);
}
