/**
 * Makes the transcripts of two servers comparable: values that cannot agree are replaced by a word
 * that is the same on both. Every rule has its reason.
 */
import type { Entry, Json, JsonObject } from './api.ts';

export function normaliseTranscript(transcript: readonly Entry[]): Json[] {
  const names = new Names(transcript);
  const versions = new Versions(transcript);

  function value(json: Json): Json {
    if (typeof json === 'string') return names.replace(text(json));
    if (Array.isArray(json)) return json.map(value);
    if (!isObject(json)) return json;
    return Object.fromEntries(
      Object.entries(json).map(([name, of]) => [names.replace(name), value(of)]),
    );
  }

  /**
   * Replaces resourceVersions in messages: those of objects by their order, the server's counter by
   * a word.
   */
  function text(of: string): string {
    return of
      .replace(
        /(ResourceVersion in (?:the )?(?:precondition|record)) \((\d+)\)/g,
        (_, what: string, version: string) => {
          return `${what} (${versions.replace(version, true)})`;
        },
      )
      .replace(/too old resource version: \d+ \(\d+\)/, 'too old resource version: … (…)')
      .replace(/(Too large resource version: \d+, current: )\d+/, '$1…');
  }

  function body(json: Json, type?: Json): Json {
    if (!isObject(json)) return value(json);
    const shown = { ...json };
    if (isObject(shown.metadata))
      shown.metadata = metadata(shown.metadata, isObjectVersion(json, type));
    if (isObject(shown.details)) shown.details = details(shown.details);
    if (Array.isArray(shown.items)) shown.items = shown.items.map((item) => body(item));
    if (Array.isArray(shown.rows)) {
      shown.rows = shown.rows.map((row) =>
        isObject(row) && row.object !== undefined
          ? { ...row, object: body(row.object, type) }
          : row,
      );
    }
    return value(shown);
  }

  function metadata(of: JsonObject, ofObject: boolean): JsonObject {
    const shown = { ...of };
    if (Array.isArray(shown.managedFields)) shown.managedFields = managers(shown.managedFields);
    if (typeof shown.resourceVersion === 'string') {
      shown.resourceVersion = versions.replace(shown.resourceVersion, ofObject);
    }
    // The two servers read their clocks at different times.
    if (isTime(shown.creationTimestamp)) shown.creationTimestamp = '<time>';
    if (isTime(shown.deletionTimestamp)) shown.deletionTimestamp = '<time>';
    // A continue token is opaque: only its presence can be compared.
    if (typeof shown.continue === 'string' && shown.continue !== '') shown.continue = '<continue>';
    return shown;
  }

  /** The real server reports conflicts with several managers in the random order of a Go map. */
  function details(of: JsonObject): JsonObject {
    const { causes } = of;
    if (!Array.isArray(causes)) return of;
    const conflicts = causes.every(
      (cause) => isObject(cause) && cause.reason === 'FieldManagerConflict',
    );
    return conflicts
      ? {
          ...of,
          causes: causes.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
        }
      : of;
  }

  /**
   * Their times, and so their order, may differ: one server may have passed a second in between.
   */
  function managers(of: Json[]): Json {
    const timeless = of.map((entry) =>
      isObject(entry) && isTime(entry.time) ? { ...entry, time: '<time>' } : entry,
    );
    const order = (entry: Json): string =>
      isObject(entry)
        ? `${entry.operation} ${entry.manager} ${entry.apiVersion} ${entry.subresource}`
        : '';
    return timeless.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  return transcript.map((entry) => {
    const shown: JsonObject = {
      request: names.replace(request(entry.request)),
      status: entry.status,
    };
    if (entry.contentType !== undefined) shown.contentType = entry.contentType;
    if (entry.encoding !== undefined) shown.encoding = entry.encoding;
    if (entry.warning !== undefined) shown.warning = entry.warning;
    if (entry.body !== undefined) shown.body = body(entry.body);
    if (entry.events !== undefined) {
      shown.events = entry.events.map((event) =>
        isObject(event) && event.object !== undefined
          ? { ...event, object: body(event.object, event.type) }
          : value(event),
      );
    }
    if (entry.ended) shown.ended = true;
    return shown;
  });
}

/** uids and the suffixes of generateName are random: the n-th one seen is named n. */
class Names {
  readonly #names = new Map<string, string>();

  constructor(transcript: readonly Entry[]) {
    let uids = 0;
    let generated = 0;
    walk(transcript as unknown as Json, ({ uid, generateName, name }) => {
      if (typeof uid === 'string' && !this.#names.has(uid)) this.#names.set(uid, `<uid ${++uids}>`);
      if (typeof generateName !== 'string' || typeof name !== 'string' || this.#names.has(name))
        return;
      if (name.startsWith(generateName) && /^[a-z0-9]{5}$/.test(name.slice(generateName.length))) {
        this.#names.set(name, `${generateName}<${++generated}>`);
      }
    });
  }

  replace(text: string): string {
    let replaced = text;
    for (const [name, shown] of this.#names) replaced = replaced.replaceAll(name, shown);
    return replaced;
  }
}

/**
 * One counter serves the whole cluster, and depends on all other writes. Only the order can agree:
 * the n-th object version of an exchange is `v<n>`. A list or bookmark may be newer than its newest
 * object, because of other writes: `at v<n>` says which object versions it covers.
 */
class Versions {
  readonly #sorted: bigint[];

  constructor(transcript: readonly Entry[]) {
    const found = new Set<bigint>();
    const add = (json: Json, type?: Json): void => {
      if (!isObject(json)) return;
      if (Array.isArray(json.items)) for (const item of json.items) add(item);
      if (Array.isArray(json.rows))
        for (const row of json.rows) if (isObject(row)) add(row.object ?? null, type);
      const version = isObject(json.metadata) ? json.metadata.resourceVersion : undefined;
      if (isVersion(version) && isObjectVersion(json, type)) found.add(BigInt(version));
    };
    for (const { body, events } of transcript) {
      if (body !== undefined) add(body);
      for (const event of events ?? [])
        if (isObject(event) && event.object !== undefined) add(event.object, event.type);
    }
    this.#sorted = [...found].sort((a, b) => (a < b ? -1 : 1));
  }

  replace(version: string, ofObject: boolean): string {
    if (!isVersion(version)) return version;
    const rank = this.#sorted.filter((other) => other <= BigInt(version)).length;
    return ofObject ? `v${rank}` : `at v${rank}`;
  }
}

/**
 * The metadata of a list, a Status or a bookmark has the version of the collection; any other has
 * that of the object.
 */
function isObjectVersion(body: JsonObject, type: Json | undefined): boolean {
  return (
    type !== 'BOOKMARK' &&
    body.items === undefined &&
    !Array.isArray(body.rows) &&
    body.kind !== 'Status'
  );
}

/**
 * Replaces versions and continue tokens in the title of a request; the responses are compared in
 * full.
 */
function request(title: string): string {
  return title.replace(/\b(continue|resourceVersion)=(?!0\b)[^&]*/g, '$1=…');
}

function isTime(value: Json | undefined): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value);
}

function isVersion(value: Json | undefined): value is string {
  return typeof value === 'string' && /^[1-9]\d*$/.test(value);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function walk(json: Json, see: (object: JsonObject) => void): void {
  if (Array.isArray(json)) for (const item of json) walk(item, see);
  if (!isObject(json)) return;
  see(json);
  for (const value of Object.values(json)) if (value !== undefined) walk(value, see);
}
