/** Prints the CustomResourceDefinition as YAML. */
import { stringify } from 'yaml';
import { ScheduledJob } from './scheduled-job.ts';

console.log(stringify(ScheduledJob.crd, { aliasDuplicateObjects: false }).trimEnd());
