/**
 * The table of watch faults: each fault, what the informer does, and its tests, or why there is
 * none. docs/evidence/watch-faults.md is generated from it. faults/rows.test.ts checks that every
 * fault has a row, every named test exists, and every fault test has a row.
 */

/** A test in another file, with its title. */
export interface Elsewhere {
  file: string;
  name: string;
}

export interface Row {
  fault: string;
  /** What the informer does, or why the fault cannot happen. */
  happens: string;
  /** Names of tests in test/cache/faults/faults.test.ts. */
  tests?: readonly string[];
  elsewhere?: readonly Elsewhere[];
  /** Why there is no test. */
  without?: string;
}

const malformed = (what: string): string =>
  `${what} in a watch is an error and leads to a new list, never to a lost event`;
const relisted = (status: number): string =>
  `${status} for a watch leads to a later list, which gives missed deletions`;
const rewatched = (status: number, how = 'with'): string =>
  `${status} for a watch, ${how} Retry-After, costs no list`;
const first = (status: number, how = 'without'): string =>
  `${status} for the first list, ${how} Retry-After, is tried again`;

/** The faults of the network and of servers. */
export const FAULTS: readonly Row[] = [
  {
    fault: '410 as an answer to a list',
    happens:
      'An expired page leads to one full list at the version of the first page. A list is ' +
      'repeated at once without a version.',
    tests: [
      '410 for a page leads to a full list, and nothing is missed',
      '410 for a list leads to a list without a version',
    ],
  },
  {
    fault: '410 as an event of a watch',
    happens:
      'Back-off, then a list no older than the last version; without a version only if ' +
      'that is refused too.',
    tests: [
      '410 as an event ends the watch and leads to a relist, no older than before',
      'after an expired history each deleted object has one tombstone',
    ],
  },
  {
    fault: '504, too large resource version',
    happens:
      'Repeated while the server asks for it, then a list without a version. All three ' +
      'forms of the error are known.',
    tests: [
      'a version that the server has not reached is requested for a while, and then left out',
    ],
  },
  {
    fault: '429, with and without Retry-After',
    happens:
      'With Retry-After the request is repeated, up to ten times. Without it, or as an ' +
      'event, it leads to a back-off. Watches go on from their version: throttling never ' +
      'causes a list.',
    tests: [
      rewatched(429, 'without'),
      rewatched(429),
      '429 as an event costs no list',
      first(429),
      first(429, 'with'),
      'a custom resource that was just defined is 429 until its storage is ready',
    ],
  },
  {
    fault: '500, 502, 503, 504',
    happens:
      'With Retry-After the request is repeated. Without it, the informer relists after a ' +
      'back-off.',
    tests: [
      ...[500, 502, 503, 504].flatMap((status) => [relisted(status), rewatched(status)]),
      first(500),
      first(503, 'with'),
      '500 as an event leads to a new list',
    ],
  },
  {
    fault: '401, an expired or rotated token',
    happens:
      'Reported as `auth`, and repeated with back-off for ever, with the current ' +
      'credentials. A running watch goes on.',
    tests: [
      'a rotated token is 401 until the new one is used, and a running watch goes on',
      first(401),
    ],
  },
  {
    fault: '403 and 404: permissions or a resource that are not there yet, or no longer',
    happens:
      'Repeated with back-off for ever. If discovery confirms that a resource is no longer ' +
      'served in any version, the informer parks: handlers get one delete event for each ' +
      'object, and the informer resumes when the resource is served again.',
    tests: [
      relisted(403),
      relisted(404),
      first(403),
      first(404),
      'a resource that is deleted and comes back is followed again',
      'a resource that is deleted in a gap of the watch parks the informer, and resumes',
    ],
  },
  {
    fault: 'connection refused',
    happens: 'Back-off, then a watch from the last version, without a list.',
    tests: [
      'a server that is restarted is watched again from the last version, without a list',
      'refused watches are tried again while writes go on, without a list',
      'a first list that meets "refuse" is asked for again until it comes',
    ],
  },
  {
    fault: 'a reset, or an end in the middle of a frame',
    happens: 'An incomplete frame is never applied: the watch resumes after the last complete one.',
    tests: [
      'a watch that is reset before its answer is sent again, without a list',
      'a watch that is cut between frames resumes where it ended',
      'a watch that is cut anywhere in a frame loses and repeats nothing',
      'an incomplete frame at an orderly end of a watch is not applied, and is sent again',
      'a first list that meets "reset" is asked for again until it comes',
      'a first list that meets "drop" is asked for again until it comes',
      'a first list that comes in small chunks is complete',
      'a stream that comes byte by byte gives the same events',
    ],
  },
  {
    fault: 'a malformed frame',
    happens:
      'Reported as `decode`; the watch ends and the informer relists. Nothing is skipped ' +
      'silently.',
    tests: [
      malformed('text that is no JSON'),
      malformed('a broken object'),
      malformed('a byte order mark'),
      malformed('an event of an unknown type'),
      malformed('an event without an object'),
      malformed('an object without a name'),
      malformed('an ERROR event that is no Status'),
      malformed('a value that is no object'),
      'after invalid bytes the first list is requested again',
      'an object of another kind is skipped, and the watch goes on',
      'frames without a line feed between them are separated',
    ],
    elsewhere: [
      {
        file: 'test/cache/decode/decoder-fuzz.test.ts',
        name: 'every frame before the first bad byte is decoded, and the bad one is an error',
      },
    ],
  },
  {
    fault: 'a half-open connection',
    happens:
      'Detected by TCP keep-alive and PINGs within 45 s over capstan/client-node, and ' +
      'after 150 s without a byte over any transport.',
    tests: [
      'a watch over a dead connection is opened again after 150 s of silence',
      'a connection that falls silent in the middle of a frame loses no event',
      'a watch that gets headers and then nothing is opened again',
      'a first list that is never answered is aborted and requested again',
    ],
    elsewhere: [
      { file: 'test/client-node/keep-alive.test.ts', name: 'a watch over HTTP/1.1' },
      {
        file: 'test/client-node/http2-connections.test.ts',
        name: 'is detected 45 s after the last byte, and all its streams are reset',
      },
      {
        file: 'test/client-node/http2-informers.test.ts',
        name: 'twenty informers share a connection, also after the network forgets it',
      },
    ],
  },
  {
    fault: 'a quiet watch',
    happens:
      'Never closed while bookmarks come; without them two requests each 150 s, and no ' + 'list.',
    tests: [
      'a quiet watch with bookmarks each minute is never closed',
      'a quiet watch without bookmarks costs a request now and then, and no list',
    ],
  },
  {
    fault: 'a watch that the server ends after timeoutSeconds',
    happens: 'The next one begins at the last version. No error, no list.',
    tests: ['a watch that ends after timeoutSeconds is opened again without a list'],
  },
  {
    fault: 'a very short watch',
    happens:
      'One that ends within a second without an event leads to a relist with back-off. One ' +
      'whose events bring nothing new is opened again, after three in a row with back-off.',
    tests: ['watches that end at once without an event are repeated with back-off'],
  },
  {
    fault: 'events that come twice or in another order',
    happens:
      'Applied by key, as in client-go: handlers may get an older state again, and the ' +
      'cache is right at the end. A RetryWatcher drops events that are not newer.',
    tests: [
      'events that come again after a new connection are applied by key',
      'events of two objects in another order give the same cache',
    ],
  },
  {
    fault: 'bookmarks',
    happens:
      'A bookmark sets the version from which the watch resumes. Handlers do not get it, ' +
      'and no bookmark is required.',
    tests: [
      'a bookmark sets the version from which a quiet watch resumes',
      'a quiet watch without bookmarks costs a request now and then, and no list',
    ],
  },
  {
    fault: 'an empty resourceVersion of an event or a list',
    happens:
      'The object is applied; the watch resumes from the last known version, so events may ' +
      'be repeated but are not missed.',
    tests: [
      'events without a version are applied, and no event is missed when the watch ends',
      'a first list without versions is followed by a watch',
    ],
  },
  {
    fault: 'no bookmark at the end of the initial events',
    happens:
      'No object of the stream reaches the cache. It is opened again, or replaced by a ' +
      'list if the server has no watch lists.',
    tests: [
      'initial objects whose end bookmark never comes are listed instead',
      'a bookmark among the initial objects does not end them',
      'a watch list that ends before its bookmark is opened again, not applied',
      'a server without watch lists is asked for a list',
    ],
  },
  {
    fault: 'an object that stops matching the selector',
    happens:
      'The server sends DELETED with the old object and the new version: a delete, and an ' +
      'add when it matches again.',
    tests: ['an object that stops matching the selector is deleted, and may come back'],
  },
  {
    fault: 'a very large object',
    happens: 'Up to 16 MiB and 10 000 levels without a limit; beyond that a `decode` error.',
    tests: [
      'an object of two megabytes is an ordinary object',
      malformed('a frame above 16 MiB'),
      malformed('a frame that nests too deep'),
    ],
  },
  {
    fault: 'a watch compressed with gzip, one member a flush',
    happens:
      'The request asks for identity. A body that is compressed all the same is read ' +
      'member by member over capstan/client-node.',
    tests: ['a server that compresses streams and lists on request is read uncompressed'],
    elsewhere: [
      {
        file: 'test/client-node/compressed-responses.test.ts',
        name: 'each member of a watch arrives when it is flushed',
      },
    ],
  },
  {
    fault: 'HTTP/2 GOAWAY',
    happens: 'Running watches go on; new requests use a new connection.',
    elsewhere: [
      {
        file: 'test/client-node/http2-connections.test.ts',
        name: 'keeps its watches, and new requests use a new connection',
      },
      {
        file: 'test/client-node/http2-informers.test.ts',
        name: 'a server with GOAWAY loses no event',
      },
    ],
  },
  {
    fault: 'a slow consumer',
    happens:
      'The server ends the watch, which resumes where it was. Handlers do not slow down ' +
      'reading.',
    tests: ['the watch of a slow client is ended by the server, and resumes where it was'],
    elsewhere: [
      {
        file: 'test/cache/informer/informer.test.ts',
        name: 'that are slow get one notification at a time, and do not delay others',
      },
    ],
  },
  {
    fault: 'start and stop at any moment',
    happens: 'One watch at a time, ended once; after the end no request and no timer.',
    elsewhere: [
      {
        file: 'test/cache/reflector/reflector.test.ts',
        name: 'stops at once in every state, without a timer left',
      },
      {
        file: 'test/cache/informer/informer.test.ts',
        name: 'ends with its signal, at any moment, and does not notify handlers after that',
      },
    ],
  },
  {
    fault: 'a handler that throws or rejects',
    happens:
      'The error is reported, and the notification is not repeated. Other handlers are not ' +
      'affected.',
    elsewhere: [
      {
        file: 'test/cache/informer/informer.test.ts',
        name: 'that throw or reject do not affect others, and lose only that notification',
      },
    ],
  },
  {
    fault: 'a clock that jumps, a machine that slept, very long delays',
    happens:
      'Time is monotonic; timers that are overdue fire then, and the watch resumes from ' +
      'its version.',
    tests: ['after an hour of sleep of the machine the watch goes on, and no event is missed'],
    elsewhere: [
      {
        file: 'test/workqueue/cases/delaying-queue.ts',
        name: 'the longest delays work: more than 2^31 ms, and for ever',
      },
    ],
  },
  {
    fault: 'an event loop that stands still',
    happens:
      'Time while the reader is busy does not count as silence of the server. Long batches ' +
      'yield to timers and I/O.',
    elsewhere: [
      {
        file: 'test/cache/reflector/idle-timeout.test.ts',
        name: 'does not count the time while its reader is busy',
      },
      {
        file: 'test/cache/informer/informer.test.ts',
        name: 'yields to timers and I/O in the middle of a long batch',
      },
    ],
  },
  {
    fault: 'the six connections of a browser',
    happens:
      'Informers of one factory share a watch; over HTTP/2 all watches share a connection. ' +
      'Documented in the README.',
    elsewhere: [
      {
        file: 'test/client-node/http2.test.ts',
        name: 'gets all watches and requests of a transport on one connection',
      },
    ],
  },
  {
    fault: 'TLS whose certificates a runtime ignores (Deno, Bun)',
    happens:
      'In Node both sides are verified. Over fetch the runtime checks certificates: there ' +
      'are no options for them that could be ignored.',
    elsewhere: [
      {
        file: 'test/client-node/http2.test.ts',
        name: 'is verified: another authority and another name are rejected',
      },
    ],
    without: 'What other runtimes make of certificates cannot be shown from Node.',
  },
];

/** The faults of WebAssembly and of memory. */
export const MEMORY_FAULTS: readonly Row[] = [
  {
    fault: 'a trap, or a stack overflow, in WebAssembly',
    happens:
      'The instance is poisoned: every later call is a typed error, and new queues and ' +
      'caches get another instance.',
    elsewhere: [
      {
        file: 'test/wasm/core-traps.test.ts',
        name: 'at any export rejects every call that waits and breaks no other instance',
      },
    ],
  },
  {
    fault: 'memory that cannot grow',
    happens: 'A typed error before anything is written; nothing has changed.',
    elsewhere: [
      {
        file: 'test/wasm/core-memory.test.ts',
        name: 'is a typed error, changes nothing, and the rest of the script ends as in the model',
      },
    ],
  },
  {
    fault: 'an allocator that never frees',
    happens:
      'Blocks have an allocator of our own, which uses memory again and can move what lies ' +
      'in the way.',
    elsewhere: [
      {
        file: 'test/wasm/arena.test.ts',
        name: 'stays within a quarter of the live bytes after most blocks were freed at random',
      },
    ],
  },
  {
    fault: 'views that are detached when memory grows',
    happens:
      'Views are made anew in one place after each growth, and growth comes before any write.',
    elsewhere: [
      {
        file: 'test/wasm/core-memory.test.ts',
        name: 'is a typed error, changes nothing, and the rest of the script ends as in the model',
      },
    ],
  },
  {
    fault: 'finalizers that run late or never',
    happens: 'Nothing depends on them: `dispose` frees at once, and slots carry a generation.',
    elsewhere: [
      {
        file: 'test/wasm/core.test.ts',
        name: 'queues that are collected without dispose give their memory back',
      },
    ],
  },
  {
    fault: 'keys that were chosen to collide',
    happens: 'Hashes have a random seed for each instance.',
    elsewhere: [
      {
        file: 'test/wasm/core-seed.test.ts',
        name: 'each instance is seeded once, with a seed of its own',
      },
    ],
  },
  {
    fault: 'keys that UTF-8 makes equal',
    happens: 'Keys are compared as UTF-16 code units, also where they come from bytes.',
    elsewhere: [
      { file: 'test/wasm/index-map.test.ts', name: 'hostile values stay different' },
      {
        file: 'test/cache/store/store.test.ts',
        name: 'agrees with a naive model after every one of many random operations',
      },
    ],
  },
  {
    fault: 'a key or value called __proto__',
    happens: 'Maps are never plain objects; objects keep it as a member of their own.',
    elsewhere: [
      { file: 'test/cache/store/store.test.ts', name: 'calls an index "__proto__" by that name' },
    ],
  },
  {
    fault: 'a line splitter that splits at a carriage return',
    happens: 'Frames end where their JSON value ends, whatever stands between them.',
    elsewhere: [
      {
        file: 'test/cache/decode/frames.test.ts',
        name: 'end where their JSON value ends, with or without white space between them',
      },
    ],
  },
];
