/**
 * The environment of a run: what the browser reports about itself and its machine, and the facts
 * that a worker found.
 */
import { html } from './dom.ts';
import { showBytes, showMs } from './format.ts';
import type { WorkerFacts } from './protocol.ts';
import type { Environment } from './result.ts';

/** Set by the build: the version of the bundled package. */
declare const __CAPSTAN_VERSION__: string;
declare const __CORE_BYTES__: number;

/** In Chromium only, and unknown to the DOM's types. */
interface UserAgentData {
  brands: readonly { brand: string; version: string }[];
  platform: string;
}

/**
 * Names of browsers without userAgentData, by a pattern of their user agent; the first that matches
 * is used.
 */
const AGENTS: readonly [pattern: RegExp, name: string][] = [
  [/Firefox\/(\d+)/, 'Firefox'],
  [/Version\/(\d+(?:\.\d+)?).*Safari\//, 'Safari'],
  [/Chrome\/(\d+)/, 'Chromium'],
];

function browserName(data: UserAgentData | undefined): string {
  // Browsers add a made-up brand, so that programs do not rely on the list.
  const brands = data?.brands.filter(({ brand }) => !/not.?a.?brand/i.test(brand)) ?? [];
  if (brands.length > 0)
    return brands.map(({ brand, version }) => `${brand} ${version}`).join(', ');
  for (const [pattern, name] of AGENTS) {
    const version = pattern.exec(navigator.userAgent)?.[1];
    if (version !== undefined) return `${name} ${version}`;
  }
  return navigator.userAgent.slice(0, 100);
}

function platformName(data: UserAgentData | undefined): string {
  if (data?.platform) return data.platform;
  return /Android|iPhone|iPad|Macintosh|Windows|Linux/.exec(navigator.userAgent)?.[0] ?? 'unknown';
}

/** Facts that a worker has not sent yet are left out. */
export function environmentHere(facts: WorkerFacts | undefined, hidden: boolean): Environment {
  const data = (navigator as Navigator & { userAgentData?: UserAgentData }).userAgentData;
  return {
    version: __CAPSTAN_VERSION__,
    coreBytes: __CORE_BYTES__,
    browser: browserName(data),
    platform: platformName(data),
    threads: navigator.hardwareConcurrency ?? 0,
    keyTable: facts?.keyTable ?? 'wasm',
    resolutionMs: facts?.resolutionMs ?? 0,
    isolated: facts?.isolated ?? globalThis.crossOriginIsolated === true,
    hidden,
  };
}

/** @param known whether a worker has sent its facts */
export function showEnvironment(container: HTMLElement, e: Environment, known: boolean): void {
  const keyTable = e.keyTable === 'wasm' ? 'Wasm, by the engine’s string builtins' : 'JavaScript';
  const clock =
    `${showMs(e.resolutionMs)}, ` +
    `${e.isolated ? 'cross-origin isolated' : 'not cross-origin isolated'}`;
  const entries: [string, string][] = [
    ['Browser', e.browser],
    ['Platform', e.platform],
    ['Threads', e.threads > 0 ? String(e.threads) : 'unknown'],
    ['Keys are hashed by', known ? keyTable : 'known after the start'],
    ['Steps of the clock', known ? clock : 'known after the start'],
    ['capstan', `${e.version}, WebAssembly core of ${showBytes(e.coreBytes)}`],
    ['Tab in front', e.hidden ? 'not all the time: distrust the figures' : 'all the time'],
  ];
  container.replaceChildren(
    ...entries.map(([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value))),
  );
}
