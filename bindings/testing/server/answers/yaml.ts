/**
 * YAML in place of JSON, for clients that send or accept it, by the optional peer `yaml`. As on the
 * real server, a document is converted to JSON, and members are written in the order of their
 * names.
 */
import { type Json, sorted } from '../json.ts';
import { badRequest, unsupportedMediaType } from '../status.ts';

type Library = typeof import('yaml');
let library: Promise<Library | undefined> | undefined;

/** Throws 415 if the peer is not installed. */
async function peer(): Promise<Library> {
  library ??= import('yaml').catch(() => undefined);
  const loaded = await library;
  if (loaded !== undefined) return loaded;
  const error = unsupportedMediaType(['application/json']);
  error.body.message = `${error.message} (YAML needs the package "yaml" beside capstan)`;
  throw error;
}

/** A body as JSON, and the problems of its YAML. */
export interface Sent {
  text: string;
  /** `line 4: key "metadata" already set in map` */
  problems: readonly string[];
}

/** Converts a YAML document to JSON. Throws 400 for invalid YAML. */
export async function jsonOfYaml(text: string): Promise<Sent> {
  const { parseDocument, visit, LineCounter } = await peer();
  const lineCounter = new LineCounter();
  try {
    // Like go-yaml, this reads `yes` as true (YAML 1.1) and takes the last of two equal keys.
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

/** Converts JSON to a YAML document. */
export async function yamlOfJson(json: string): Promise<string> {
  const { stringify } = await peer();
  return stringify(sorted(JSON.parse(json) as Json), { version: '1.1', lineWidth: 0 });
}

/**
 * The body of an apply patch, which is YAML; most clients send JSON, for which the peer is not
 * needed.
 */
export async function jsonOfApply(body: string): Promise<Sent> {
  if (/^\s*([{[]|$)/.test(body)) return { text: body, problems: [] };
  return jsonOfYaml(body);
}
