/** How warnings are told: of a place in an object, or of the object as a whole. */
import type { Place } from '../validation/place.ts';

/** @param at the place whose path the warning begins with; undefined: it stands for itself */
export type Warn = (at: Place | undefined, message: string) => void;
