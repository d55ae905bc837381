/** Options without those that are undefined, which say nothing: what they are spread over stays. */
export function given<O extends object>(options: O): O {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as O;
}
