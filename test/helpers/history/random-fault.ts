/**
 * Faults of a correct server and a bad network, at random: with any of them nothing may be lost,
 * invented or reported out of order.
 */
import type { Fault } from 'capstan/testing';
import type { Random } from '../random.ts';

/** A fault that a correct server or a network may have once. */
export function randomFault(random: Random, path: string): Fault {
  const verb = random.chance(0.7) ? 'watch' : 'list';
  const status = (code: number, retryAfter?: number): Fault => ({
    do: 'status',
    status: code,
    retryAfter,
  });
  const any: Fault[] = [
    ...[
      status(429),
      status(429, 2000),
      status(500),
      status(503),
      status(504),
      status(401),
      status(403),
    ],
    ...[{ do: 'refuse' } as const, { do: 'reset' } as const, { do: 'stall' } as const],
    ...[
      { do: 'drop', afterBytes: random.int(3000) } as const,
      { do: 'delay', ms: random.int(5000) } as const,
      { do: 'split', chunkBytes: 1 + random.int(50) } as const,
    ],
  ];
  const inWatch: Fault[] = [
    ...[
      status(410),
      { do: 'garbage', bytes: '{"type":"ADDED","object":{"metadata":{"name":' } as const,
    ],
    ...[
      { do: 'end', afterEvents: random.int(4) } as const,
      { do: 'end', afterEvents: random.int(4), frameBytes: 1 + random.int(40) } as const,
      { do: 'hang', afterEvents: random.int(4) } as const,
      { do: 'hang', afterEvents: random.int(4), frameBytes: 1 + random.int(40) } as const,
      { do: 'error', status: random.pick([410, 500, 429]), afterEvents: random.int(4) } as const,
      { do: 'insert', bytes: 'no JSON\n', afterEvents: random.int(4) } as const,
      {
        do: 'omit',
        what: random.pick(['bookmarks', 'initial-events-end', 'newline'] as const),
      } as const,
    ],
  ];
  const fault = random.pick(verb === 'watch' ? [...any, ...inWatch] : any);
  // these cost minutes in which nothing else happens
  const silent = fault.do === 'stall' || fault.do === 'hang';
  if (silent && random.chance(0.7)) return randomFault(random, path);
  return { ...fault, verb, path, times: 1 };
}
