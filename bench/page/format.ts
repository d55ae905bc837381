/** Formats figures with three significant digits and their unit. */

/** Three significant digits, without an exponent: 0.0123, 1.23, 12.3, 123, 1230. */
export function three(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 6));
}

export const showNs = (ns: number): string =>
  ns >= 1e6 ? `${three(ns / 1e6)} ms` : ns >= 1e4 ? `${three(ns / 1e3)} µs` : `${three(ns)} ns`;

export const showMs = (ms: number): string =>
  ms >= 1000 ? `${three(ms / 1000)} s` : ms >= 1 ? `${three(ms)} ms` : `${three(ms * 1000)} µs`;

/** A time that may be below the resolution of the clock. */
export const showTime = (ms: number, resolutionMs: number): string =>
  ms < resolutionMs ? `< ${showMs(resolutionMs)}` : showMs(ms);

export const showRate = (perSecond: number): string =>
  perSecond >= 1e6
    ? `${three(perSecond / 1e6)} M/s`
    : perSecond >= 1e3
      ? `${three(perSecond / 1e3)} k/s`
      : `${three(perSecond)} /s`;

/**
 * A ratio of times as a sentence in both directions: 0.5 is "2.00× faster", 2 is "2.00× slower".
 */
export function showRatio(ratio: number): string {
  const factor = Math.max(ratio, 1 / ratio);
  if (factor.toFixed(2) === '1.00') return 'even';
  return `${factor.toFixed(factor < 10 ? 2 : 1)}× ${ratio < 1 ? 'faster' : 'slower'}`;
}

export function showSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60
    ? `${whole} s`
    : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

export const showBytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
