/**
 * Cases of the seed of `.ci/run` that differ and should not, each with the reason. A run fails if a
 * listed case agrees.
 */
export interface KnownDifference {
  why: string;
  /** The ids that a run prints with the cases that differ. */
  cases: readonly string[];
}

export const knownDifferences: readonly KnownDifference[] = [];
