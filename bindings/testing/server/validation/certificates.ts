/** The rules of CertificateSigningRequests. kubernetes: pkg/apis/certificates/validation. */
import { X509Certificate } from 'node:crypto';
import { isObject, type Json, sameJson } from '../json.ts';
import { dnsLabel, subdomain } from '../registry/names.ts';
import { isSignedRequest, pemBlocks } from './certificate-request.ts';
import type { Place, RuleTable } from './place.ts';

const USAGES = [
  ...['any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign'],
  ...['data encipherment', 'decipher only', 'digital signature', 'email protection'],
  ...['encipher only', 'ipsec end system', 'ipsec tunnel', 'ipsec user', 'key agreement'],
  ...['key encipherment', 'microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime'],
  ...['server auth', 'signing', 'timestamping'],
];
const LEAST_SECONDS = 600;
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
/** Conditions whose status can only be `True`. */
const DECISIONS = ['Approved', 'Denied'];
const TRUE_ONLY = [...DECISIONS, 'Failed'];

function request(object: Place): void {
  const spec = object.at('spec');
  if (!isSignedRequest(Buffer.from(spec.at('request').text, 'base64')))
    spec.at('request').invalid('must be a PEM block of a signed PKCS#10 certificate request');
  const usages = spec.at('usages');
  usages.need();
  // The spec never changes, so that only a create checks it.
  if (!object.isUpdate) {
    for (const usage of usages.items) usage.among(USAGES);
    usages.distinct();
  }
  signer(spec.at('signerName'));
  const seconds = spec.at('expirationSeconds');
  if (seconds.isSet && seconds.number < LEAST_SECONDS)
    seconds.invalid('may not specify a duration less than 600 seconds (10 minutes)');
  conditions(object.in('status.conditions'));
  certificate(object.in('status.certificate'));
}

function signer(at: Place): void {
  if (!at.need()) return;
  if (at.text === LEGACY_SIGNER) {
    if (!at.isUpdate) at.invalid('the legacy signerName is not allowed via this API version');
    return;
  }
  const [host = '', path, ...more] = at.text.split('/');
  if (path === undefined || more.length > 0) {
    at.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'");
    return;
  }
  if (host.length > 253) at.tooLong(253);
  const labels = host.split('.');
  const wrong = labels.find((label) => dnsLabel(label).length > 0);
  if (wrong !== undefined) at.matches(dnsLabel, wrong);
  if (labels.length < 2) at.invalid('should be a domain with at least two segments');
  const wrongPart = path.split('.').find((part) => subdomain(part).length > 0);
  if (wrongPart !== undefined) at.matches(subdomain, wrongPart);
  if (at.text.length > 253 + 1 + 253 + 63 + 1) at.tooLong(253 + 1 + 253 + 63 + 1);
}

const ofType = (list: Json | undefined, type: string): readonly Json[] =>
  Array.isArray(list) ? list.filter((item: Json) => isObject(item) && item.type === type) : [];

function conditions(list: Place): void {
  const seen = new Set<string>();
  const had = (type: string): boolean => ofType(list.was, type).length > 0;
  const mayContradict = DECISIONS.every(had);
  for (const item of list.items) {
    const [type, status] = [item.at('type'), item.at('status')];
    type.need();
    if (status.need())
      status.among(TRUE_ONLY.includes(type.text) ? ['True'] : ['False', 'True', 'Unknown']);
    const other = DECISIONS.find((name) => name !== type.text) ?? '';
    if (!mayContradict && DECISIONS.includes(type.text) && seen.has(other))
      list.invalid('Approved and Denied conditions are mutually exclusive');
    if (seen.has(type.text)) type.duplicate();
    seen.add(type.text);
  }
}

function certificate(at: Place): void {
  if (at.isEmpty || (at.isUpdate && !at.isChanged)) return;
  const blocks = pemBlocks(Buffer.from(at.text, 'base64').toString('latin1'));
  const isOne = ({ type, bytes }: { type: string; bytes: Buffer }): boolean => {
    try {
      return type === 'CERTIFICATE' && new X509Certificate(bytes).raw.length > 0;
    } catch {
      return false;
    }
  };
  if (blocks.length === 0 || !blocks.every(isOne)) at.invalid('must be PEM blocks of certificates');
}

/** @param sets what the write may change beside conditions that are no decision */
function change(object: Place, sets?: 'certificate' | 'decisions'): void {
  request(object);
  if (!object.isUpdate) return;
  const list = object.in('status.conditions');
  const count = (type: string): number =>
    ofType(list.value, type).length - ofType(list.was, type).length;
  for (const type of TRUE_ONLY)
    if (count(type) < 0) list.forbidden(`updates may not remove a condition of type "${type}"`);
  for (const type of sets === 'decisions' ? [] : DECISIONS) {
    const isChanged = !sameJson(ofType(list.value, type) as Json, ofType(list.was, type) as Json);
    if (count(type) > 0) list.forbidden(`updates may not add a condition of type "${type}"`);
    else if (count(type) === 0 && isChanged)
      list.forbidden(`updates may not modify a condition of type "${type}"`);
  }
  const issued = object.in('status.certificate');
  if (!issued.isChanged) return;
  if (sets !== 'certificate') issued.forbidden('updates may not set certificate content');
  else if ((issued.was ?? '') !== '')
    issued.forbidden('updates may not modify existing certificate content');
}

export const certificates: RuleTable = {
  'certificates.k8s.io/certificatesigningrequests': {
    object: (object) => change(object),
    status: (object) => change(object, 'certificate'),
    approval: (object) => change(object, 'decisions'),
  },
};
