/**
 * Tests of the embedded server that do not hold on a real one, with why. A run on a real server
 * leaves them out; any other test that fails there fails the run.
 */

/** By reason, the names of tests. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  'It is about what the embedded server makes by itself or leaves out.': [
    'create > makes another name where the one that it made is taken, eight times',
    'discovery tells built-in resources and those that were seen',
    'an empty list has a kind and a version to watch from',
    'versions without a definition share their objects and their deletion',
    'objects older than their definition are served by its schema',
    'from then on namespaces have to be there, and kinds before they are read',
    'the document of a definition follows it, and its hash too',
    'a review of access > allows everything without RBAC, and is not stored',
    'discovery > is one document for those who ask for it, custom resources included',
  ],
  'It counts all objects, and a real server has objects of its own.': [
    'delete > of a collection deletes what its selectors choose, and answers with that',
    'a list is ordered by namespace and name, at the version of the last write',
    'a definition > takes its objects and its resource away also when it is deleted with others',
  ],
  'A controller of a real server does a moment later what the embedded one does at once.': [
    'a resource that is removed > goes and comes with its definition',
    'a definition > serves its versions, and no longer those that an update removes',
    'a definition > that changes says which names are accepted and which versions were stored',
    'a definition > whose names are taken waits until they are free',
    'a definition > that is deleted waits for the finalizers of its objects',
    'an informer loses a resource with its definition, not with one version',
    'a definition in a group of Kubernetes needs an approval annotation',
    'a Role > of everything of the group',
    'the ClusterRoles that a server begins with > view reads all but Secrets, and edit writes, ' +
      'by aggregation',
    'a token of a ServiceAccount > ends with the account, and with the Pod that it is bound to',
  ],
  'The controller manager does it, which does not run there.': [
    'the ClusterRoles that a server begins with > an aggregated one has the rules of those that ' +
      'it selects',
    'an eviction > of a Pod that is not healthy and another one by now is told to come again',
  ],
  'An APIService for the group of a definition is there already.': [
    'the metadata of an object of /apis/apiregistration.k8s.io/v1/apiservices is not written ' +
      'through its status',
  ],
  'The user is another one: an administrator with a certificate.': [
    'a program > is known with its groups and extras',
    'a CertificateSigningRequest > is of the user who sends it, and is decided at its approval',
  ],
  'A kube-apiserver also answers in protobuf.': [
    'speaks JSON and YAML and says so',
    'a client that asks for protobuf alone gets 406',
    'the server > refuses invalid protobuf and other kinds with 400',
    'the server > takes it for built-in kinds alone, but the options of deletions for all',
  ],
  'The embedded server differs: see docs/evidence/embedded-server.md.': [
    'update > of what does not exist is not found, and creates a Lease',
    'an object is found in its scope alone',
    'a method that a path does not know is not allowed',
    'answers health checks, its version and unknown paths',
    'a scale > without replicas sets no owner',
    'apply > of a name with a line feed is refused and creates nothing',
    'a ConfigMap > with too much',
    'a rule in CEL > that fails reports the reason',
    'a rule in CEL > has a reason, a place and a message that is calculated',
    'a rule in CEL > self.list.all(i, v, v < 10)',
  ],
  'It did not end there within a minute; the reason is not known.': [
    'a slow reader > keeps no other one waiting',
    'a list and its watch give every concurrent event once',
  ],
};

const KNOWN: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([why, names]) => names.map((name) => [name, why] as const)),
);

/** Why a test does not hold on a real server; undefined for one that does. */
export function knownDifference(name: string): string | undefined {
  return KNOWN.get(name.replace(/ \(CAPSTAN_SEED=\d+\)$/, ''));
}
