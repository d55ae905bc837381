/**
 * Cases of the seed that `.ci/run` takes that differ and should not, each with the reason. A case
 * that agrees has to leave the list, and a run fails as long as it is there.
 */
export interface Known {
  why: string;
  /** By the ids that a run prints with the cases that differ. */
  cases: readonly string[];
}

export const known: readonly Known[] = [
  {
    why: 'The phase of a PersistentVolume whose status is null: the real server puts Pending back.',
    cases: ['fd0b48049fb7'],
  },
  {
    why: 'The status of a ValidatingAdmissionPolicy leaves its labels alone on the real server.',
    cases: ['875995489cd5'],
  },
  {
    why: 'The phase of a Namespace whose status is empty: the real server takes Active for it.',
    cases: ['3625d49b0ed2'],
  },
  {
    why: 'What the entry of a manager whose replicas a strategic patch of the scale took still has.',
    cases: ['35ab4b5e7821', '234f589db8c2'],
  },
  {
    why: 'A scale with a fraction of a replica and an old version: the real server reads the body first.',
    cases: ['8881f7e58572', 'fbdc8589fbe5'],
  },
];
