/** What stands before every path of the page: '' or, behind a proxy that shows it below another path, '/rnode/c1/8080'. */
export const BASE = document.querySelector<HTMLMetaElement>('meta[name="tacho-base"]')?.content ?? '';
