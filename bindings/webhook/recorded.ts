/** Keeps registered webhooks, and serves nothing. A `setup` function gets one as its manager. */
import { CapstanError } from '../base/errors.ts';
import type { ConversionRegistration } from './conversion.ts';
import type { WebhookRegistration } from './registration.ts';

/** Takes registered webhooks. */
export interface WebhookSink {
  add(registration: WebhookRegistration): void;
  addConversion(registration: ConversionRegistration): void;
}

export class RecordedWebhooks implements WebhookSink {
  readonly registrations: WebhookRegistration[] = [];
  /** By `group/kind`. */
  readonly conversions = new Map<string, ConversionRegistration>();

  add(registration: WebhookRegistration): void {
    const { type, path, name } = registration;
    for (const other of this.registrations) {
      if (other.path === path)
        throw taken(`the path ${path} already has a handler: use another one`);
      // Names are keys of a configuration.
      if (other.type === type && other.name === name)
        throw taken(`${path} expected another name than ${name}, which ${other.path} has`);
    }
    this.registrations.push(registration);
  }

  addConversion(registration: ConversionRegistration): void {
    const { group, kind } = registration.resource;
    const id = `${group}/${kind}`;
    if (this.conversions.has(id))
      throw taken(`conversions of ${kind} of ${group} are registered already: use one builder`);
    this.conversions.set(id, registration);
  }
}

const taken = (message: string): CapstanError => new CapstanError('INVALID_ARGUMENT', message);
