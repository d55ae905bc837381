/**
 * Validates the conversion of a CustomResourceDefinition: None or a webhook.
 * apiextensions-apiserver: pkg/apis/apiextensions/validation; apiserver: pkg/util/webhook.
 */
import { isObject, type Json, type JsonObject, memberObject, stringAt } from '../json.ts';
import { label1035 } from '../registry/names.ts';
import {
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
} from '../status.ts';
import type { SchemaLeniency } from './leniency.ts';

const PATH = 'spec.conversion';
const CLIENT = `${PATH}.webhookClientConfig`;
const REVIEWS = `${PATH}.conversionReviewVersions`;
const KNOWN_REVIEWS = ['v1', 'v1beta1'];

export function conversionErrors(spec: JsonObject, lenient: SchemaLeniency): FieldError[] {
  const { conversion } = spec;
  if (!isObject(conversion)) return [];
  const errors: FieldError[] = [];
  const strategy = stringAt(conversion, 'strategy');
  if (strategy !== 'None' && spec.preserveUnknownFields === true) {
    const why = 'must be None if spec.preserveUnknownFields is true';
    errors.push(fieldInvalid(`${PATH}.strategy`, strategy, why));
  }
  if (strategy === '') errors.push(fieldRequired(`${PATH}.strategy`, ''));
  else if (strategy !== 'None' && strategy !== 'Webhook')
    errors.push(fieldNotSupported(`${PATH}.strategy`, strategy, ['None', 'Webhook']));
  const webhook = memberObject(conversion, 'webhook');
  const { clientConfig } = webhook;
  const reviews = Array.isArray(webhook.conversionReviewVersions)
    ? (webhook.conversionReviewVersions as readonly Json[])
    : [];
  if (strategy === 'Webhook') {
    if (isObject(clientConfig)) errors.push(...clientErrors(clientConfig, lenient));
    else errors.push(fieldRequired(CLIENT, 'required when strategy is set to Webhook'));
    errors.push(...reviewErrors(reviews, lenient));
    return errors;
  }
  const why = 'should not be set when strategy is not set to Webhook';
  if (isObject(clientConfig)) errors.push(fieldForbidden(CLIENT, why));
  if (reviews.length > 0) errors.push(fieldForbidden(REVIEWS, why));
  return errors;
}

function clientErrors(config: JsonObject, lenient: SchemaLeniency): FieldError[] {
  const { url, service, caBundle } = config;
  const errors: FieldError[] = [];
  if ((url === undefined) === (service === undefined))
    errors.push(fieldRequired(CLIENT, 'exactly one of url or service is required'));
  else if (typeof url === 'string') errors.push(...urlErrors(url));
  else if (isObject(service)) errors.push(...serviceErrors(service));
  if (typeof caBundle === 'string' && caBundle !== '' && !lenient.caBundle) {
    const text = Buffer.from(caBundle, 'base64').toString('latin1');
    if (!text.includes('-----BEGIN CERTIFICATE-----'))
      errors.push(fieldInvalid(`${CLIENT}.caBundle`, caBundle, 'unable to load root certificates'));
  }
  return errors;
}

function urlErrors(text: string): FieldError[] {
  const field = `${CLIENT}.url`;
  const form = 'desired format: https://host[/path]';
  const parts = /^(?:([a-z][a-z\d+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(text);
  if (parts === null || /\p{Cc}/u.test(text))
    return [fieldRequired(field, `url must be a valid URL: ${form}`)];
  const [, scheme = '', authority = '', , query = '', fragment = ''] = parts;
  const errors: FieldError[] = [];
  if (scheme.toLowerCase() !== 'https')
    errors.push(fieldInvalid(field, scheme, `'https' is the only allowed URL scheme; ${form}`));
  if (authority.replace(/^.*@/, '') === '')
    errors.push(fieldInvalid(field, authority, `host must be specified; ${form}`));
  if (authority.includes('@')) {
    const why = 'user information is not permitted in the URL';
    errors.push(fieldInvalid(field, authority.replace(/@.*$/, ''), why));
  }
  if (fragment.length > 1)
    errors.push(fieldInvalid(field, fragment, 'fragments are not permitted in the URL'));
  if (query.length > 1)
    errors.push(fieldInvalid(field, query, 'query parameters are not permitted in the URL'));
  return errors;
}

function serviceErrors(service: JsonObject): FieldError[] {
  const field = `${CLIENT}.service`;
  const errors = ['name', 'namespace'].flatMap((member) =>
    stringAt(service, member) === ''
      ? [fieldRequired(`${field}.${member}`, `service ${member} is required`)]
      : [],
  );
  const { port, path } = service;
  if (typeof port === 'number' && (port < 1 || port > 65_535)) {
    const why = 'port is not valid: must be between 1 and 65535, inclusive';
    errors.push(fieldInvalid(`${field}.port`, port, why));
  }
  if (typeof path !== 'string') return errors;
  const at = `${field}.path`;
  if (!path.startsWith('/')) errors.push(fieldInvalid(at, path, "must start with a '/'"));
  const steps = path.slice(1).split('/');
  if (steps.at(-1) === '') steps.pop();
  for (const [index, step] of steps.entries()) {
    if (step === '') errors.push(fieldInvalid(at, path, `segment[${index}] may not be empty`));
    else if (!/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(step))
      errors.push(fieldInvalid(at, path, `segment[${index}]: must be a name`));
  }
  return errors;
}

function reviewErrors(versions: readonly Json[], lenient: SchemaLeniency): FieldError[] {
  if (versions.length === 0) return [fieldRequired(REVIEWS, '')];
  const errors: FieldError[] = [];
  for (const [at, version] of versions.entries()) {
    const field = `${REVIEWS}[${at}]`;
    if (versions.indexOf(version) < at)
      errors.push(fieldInvalid(field, version, 'duplicate version'));
    else
      for (const why of label1035(String(version))) errors.push(fieldInvalid(field, version, why));
  }
  if (
    !lenient.reviewVersions &&
    !versions.some((version) => KNOWN_REVIEWS.includes(String(version)))
  ) {
    const why = `must include at least one of ${KNOWN_REVIEWS.join(', ')}`;
    errors.push(fieldInvalid(REVIEWS, versions, why));
  }
  return errors;
}
