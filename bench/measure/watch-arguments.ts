/** The arguments of a process that measures events of a watch: URL EVENTS [CHOICE [WARMUP]]. */

export interface WatchArguments<C extends string> {
  readonly url: string;
  /** How many are measured. */
  readonly events: number;
  /** How many come before those that are measured. */
  readonly warmUp: number;
  readonly choice: C;
}

/** Throws an Error for a choice that is none of `choices`; the first of them is the default. */
export function watchArguments<C extends string>(
  name: string,
  choices: readonly C[],
): WatchArguments<C> {
  const [url = '', count = '', given = choices[0], before = '0'] = process.argv.slice(2);
  const choice = choices.find((each) => each === given);
  if (choice === undefined)
    throw new Error(`${name} expected one of ${choices.join(', ')}, got ${given}`);
  return { url, events: Number(count), warmUp: Number(before), choice };
}
