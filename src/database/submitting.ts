/** Held by all who submit: users and hosts that they need are not removed meanwhile. */
export const SUBMITTING = 7_422_411_002;
