/** The tool that asks coding agents. */
export const ASK_AGENT = 'ask_agent';

/** The tool that asks models. */
export const ASK_MODEL = 'ask_model';
