/**
 * Tests of the embedded server that do not hold on a real one, with why. A run on a real server
 * leaves them out; any other test that fails there fails the run.
 */

/** By reason, the names of tests. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  'It decides the random numbers of the server.': [
    'create > makes another name where the one that it made is taken, eight times',
  ],
  'A real server needs a definition for the versions and objects of a kind.': [
    'versions without a definition share their objects and their deletion',
    'objects older than their definition are served by its schema',
  ],
  'A real server is strict from its start.': [
    'from then on namespaces have to be there, and kinds before they are read',
  ],
  'The real server runs with RBAC.': [
    'a review of access > allows everything without RBAC, and is not stored',
  ],
  'A controller manager gives aggregated ClusterRoles their rules; none runs there.': [
    'the ClusterRoles that a server begins with > view reads all but Secrets, and edit writes, ' +
      'by aggregation',
    'the ClusterRoles that a server begins with > an aggregated one has the rules of those that ' +
      'it selects',
  ],
  'An APIService for the group of a definition is there already.': [
    'the metadata of an object of /apis/apiregistration.k8s.io/v1/apiservices is not written ' +
      'through its status',
  ],
  'The objects of definitions that are deleted as a collection stay on a real server.': [
    'a definition > takes its objects and its resource away also when it is deleted with others',
  ],
  'A kube-apiserver also answers in protobuf.': [
    'speaks JSON and YAML and says so',
    'a client that asks for protobuf alone gets 406',
  ],
  'A kube-apiserver closes the connection on some bodies in protobuf.': [
    'the server > takes it for built-in kinds alone, but the options of deletions for all',
  ],
};

/** Tests that expect a server without the kinds that other tests made. */
const WITHOUT_KINDS: ReadonlySet<string> = new Set([
  'discovery tells built-in resources and those that were seen',
  'the document of a definition follows it, and its hash too',
  'discovery > is one document for those who ask for it, custom resources included',
]);

const KNOWN: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([why, names]) => names.map((name) => [name, why] as const)),
);

/** Why a test does not hold on a real server; undefined for one that does. */
export function knownDifference(name: string): string | undefined {
  return KNOWN.get(name.replace(/ \(CAPSTAN_SEED=\d+\)$/, ''));
}

export const needsNoKinds = (name: string): boolean => WITHOUT_KINDS.has(name);
