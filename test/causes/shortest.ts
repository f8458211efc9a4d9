/** Waste is judged from half a minute on; of cases from this on, so that they are short. */
export const SHORTEST_SECONDS = 7;
