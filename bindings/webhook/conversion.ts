/**
 * Answers ConversionReviews of apiextensions.k8s.io/v1. One version of a kind is the hub. Each
 * other version is a spoke, which converts to the hub and from it. No I/O. controller-runtime:
 * pkg/webhook/conversion/conversion.go.
 */
import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, invalid, show } from '../base/errors.ts';
import { jsonText, mayBeRounded, noteText, numbersIn, parseJson } from '../base/exact-json.ts';
import { isJsonObject, sameJson } from '../base/json-value.ts';
import { namesOf } from '../base/names.ts';
import { groupVersion } from '../base/resource.ts';
import { sleep } from '../base/wait.ts';
import { jsonCopy } from './json-patch.ts';
import type { RegisteredResource } from './registration.ts';
import { BadReview, requestOf } from './review.ts';

/**
 * Converts a version, the spoke, to the hub's version and back. The functions get a copy of the
 * object, which they may change and return. `apiVersion` and `kind` of the result are set for them.
 * They may change labels and annotations. Other metadata that they leave out is kept; to change it
 * is an error.
 */
export interface Conversion<Spoke, Hub> {
  /** Of the spoke, such as `v1beta1`. */
  readonly version: string;
  toHub(spoke: Spoke): Hub;
  fromHub(hub: Hub): Spoke;
}

export const CONVERSION_NAMES = namesOf<Conversion<unknown, unknown>>()({
  version: 1,
  toHub: 1,
  fromHub: 1,
});

/** A kind with conversions. */
export interface ConversionRegistration {
  /** The hub. */
  readonly resource: RegisteredResource;
  readonly spokes: readonly Conversion<object, object>[];
}

/** The `request` of a ConversionReview. */
export interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly object[];
}

export interface ConversionContext {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly timeout: number;
  /** Fires when the API server disconnects. */
  readonly hungUp: AbortSignal;
  /** Gets each error of a conversion, and the timeout. */
  onError(error: unknown): void;
}

/** The path of all conversions, as in controller-runtime. */
export const CONVERT_PATH = '/convert';
const REVIEW = 'apiextensions.k8s.io/v1';
/** Matches numbers that JavaScript may have rounded. */
const LONG_NUMBER = /[:,[]-?\d{16}/;
/** In milliseconds: after this time a conversion of a list lets other work run. */
const TURN_MS = 10;

/** Decodes the body of a request. Throws BadReview. */
export function decodeConversion(body: Uint8Array): ConversionRequest {
  const { uid, desiredAPIVersion, objects } = requestOf(body, 'ConversionReview', REVIEW);
  const bad = (what: string): BadReview => new BadReview(400, `request.${what}`);
  if (typeof uid !== 'string' || uid === '') throw bad('uid: expected a text');
  if (typeof desiredAPIVersion !== 'string' || desiredAPIVersion === '')
    throw bad('desiredAPIVersion: expected a text');
  if (!Array.isArray(objects) || !objects.every(isJsonObject))
    throw bad('objects: expected a list of objects');
  return { uid, desiredAPIVersion, objects };
}

/**
 * The answer to a request, as text: all converted objects, or the failure of one. Never rejects.
 * The conversion stops at the timeout, and when the API server disconnects.
 *
 * @param kinds by `group/kind`
 */
export async function convert(
  request: ConversionRequest,
  kinds: ReadonlyMap<string, ConversionRegistration>,
  { clock, timeout, hungUp, onError }: ConversionContext,
): Promise<string> {
  const { uid, desiredAPIVersion, objects } = request;
  const converted: object[] = [];
  const deadline = clock.now() + timeout;
  let began = clock.now();
  let result: object = { status: 'Success' };
  for (const object of objects) {
    try {
      converted.push(convertObject(object, desiredAPIVersion, kinds));
      const now = clock.now();
      if (now > deadline) throw late(timeout, converted.length, objects.length);
      if (now - began < TURN_MS) continue;
    } catch (error) {
      onError(error);
      converted.length = 0;
      result = { status: 'Failure', message: `${nameOf(object)}: ${textOfError(error)}` };
      break;
    }
    await sleep(clock, 0, undefined);
    if (hungUp.aborted) break;
    began = clock.now();
  }
  const response = { uid, convertedObjects: converted, result };
  return jsonText({ apiVersion: REVIEW, kind: 'ConversionReview', response }) as string;
}

const late = (timeout: number, done: number, all: number): CapstanError =>
  new CapstanError(
    'TIMEOUT',
    `the conversion of ${all} objects was not done within ${timeout} ms: ${done} were converted`,
  );

function nameOf(object: object): string {
  const { apiVersion, kind, metadata } = object as Record<string, unknown>;
  const { namespace, name } = (metadata ?? {}) as Record<string, unknown>;
  const path = [namespace, name].filter((part) => typeof part === 'string').join('/');
  return `${String(kind)} ${path} of ${String(apiVersion)}`;
}

/** The part of a registration that a conversion needs. */
type Converted = Pick<ConversionRegistration, 'spokes'> & {
  readonly resource: Pick<RegisteredResource, 'group' | 'version' | 'kind'>;
};

/** Throws what a conversion throws, and CapstanError INVALID_ARGUMENT. */
export function convertObject(
  object: object,
  desired: string,
  kinds: ReadonlyMap<string, Converted>,
): object {
  const { apiVersion, kind, metadata } = object as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isJsonObject(metadata))
    throw invalid('request.objects[]', 'an object with apiVersion, kind and metadata', object);
  const [group, from] = split(apiVersion);
  const [desiredGroup, to] = split(desired);
  const registration = kinds.get(`${group}/${kind}`);
  if (registration === undefined || desiredGroup !== group)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${kind} has no conversion from ${apiVersion} to ${desired}: use withConversion()`,
    );
  if (from === to) return object;
  const { resource } = registration;
  const { version: hub } = resource;
  let result: unknown = object;
  if (from !== hub) {
    result = spokeOf(registration, from).toHub(jsonCopy(object));
    requireResult('toHub', result);
    result = finished(object, result, 'toHub', groupVersion(resource));
  }
  if (to !== hub) {
    const original = result as object;
    result = spokeOf(registration, to).fromHub(jsonCopy(original));
    requireResult('fromHub', result);
    result = finished(original, result, 'fromHub', desired);
  }
  return result as object;
}

function split(apiVersion: string): [group: string, version: string] {
  const at = apiVersion.lastIndexOf('/');
  return [apiVersion.slice(0, Math.max(at, 0)), apiVersion.slice(at + 1)];
}

function spokeOf({ resource, spokes }: Converted, version: string) {
  const spoke = spokes.find((one) => one.version === version);
  if (spoke !== undefined) return spoke;
  const known = [resource.version, ...spokes.map((one) => one.version)].join(', ');
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `${resource.kind} expected one of the versions ${known}, got ${version}: register it with ` +
      'withConversion()',
  );
}

function requireResult(name: string, result: unknown): asserts result is Record<string, unknown> {
  if (!isJsonObject(result) || typeof result.then === 'function')
    throw invalid(`the result of ${name}()`, 'an object', result);
}

/** The result with the metadata of the original and the exact texts of its numbers. */
function finished(original: object, result: object, name: string, apiVersion: string): object {
  const { kind, metadata: was } = original as { kind: string; metadata: object };
  let text = jsonText(result) as string;
  if (LONG_NUMBER.test(text) && keepNumbers(original, result)) text = jsonText(result) as string;
  const whole: unknown = parseJson(text);
  requireResult(name, whole);
  const { apiVersion: _, kind: givenKind = kind, metadata: given = {}, ...others } = whole;
  if (givenKind !== kind) throw changed(name, 'kind', kind, givenKind);
  if (!isJsonObject(given)) throw invalid(`${name}().metadata`, 'an object', given);
  return { apiVersion, kind, metadata: withLabels(name, was, given), ...others };
}

/** The API server refuses or ignores changes of other metadata. */
function withLabels(name: string, was: object, given: object): object {
  const { labels: _, annotations: __, ...rest } = was as Record<string, unknown>;
  const { labels, annotations, ...others } = given as Record<string, unknown>;
  for (const [member, value] of Object.entries(others))
    if (!sameJson(value, rest[member]))
      throw changed(name, `metadata.${member}`, rest[member], value);
  return {
    ...rest,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

const changed = (name: string, path: string, was: unknown, got: unknown): CapstanError =>
  new CapstanError(
    'INVALID_ARGUMENT',
    `the result of ${name}() expected ${path} ${show(was)} as before, got ${show(got)}: a ` +
      'conversion may change only labels and annotations of the metadata',
  );

/**
 * Restores the exact text of rounded integers that a conversion has copied to another object.
 * Returns whether there were any. Throws CapstanError INVALID_ARGUMENT if two integers of the
 * original are rounded to the same number.
 */
function keepNumbers(original: object, result: object): boolean {
  const lost = numbersIn(result).filter(
    ({ value, text }) => text === undefined && mayBeRounded(value),
  );
  if (lost.length === 0) return false;
  const texts = new Map<number, Set<string>>();
  for (const { value, text = String(value) } of numbersIn(original))
    texts.set(value, (texts.get(value) ?? new Set()).add(text));
  for (const { holder, name, value, path } of lost) {
    const [text, other] = texts.get(value) ?? [];
    if (other !== undefined)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${path.join('.')} is ${text} or ${other}, which JavaScript rounds to one number: copy ` +
          'the object that has the number, not the number',
      );
    if (text !== undefined) noteText(holder, name, text);
  }
  return true;
}
