// What is seen of `pages` (by name) at `widths` (pixels), which come before this file.
// Pages forbid scripts and requests: a page around them measures. Frames of `srcdoc` are of its
// origin, and as wide as they are told to be, which a window is not.
const found = [];
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
function over(colours) {  // the last on the first, as (r, g, b) from 0 to 255
  canvas.clearRect(0, 0, 1, 1);
  for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
}
function luminance(rgb) {
  const [r, g, b] = rgb.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
}
function contrast(view, element) {  // WCAG 2.2, of a text with what is behind it
  const behind = [];
  for (let e = element; e; e = e.parentElement) behind.unshift(view.getComputedStyle(e).backgroundColor);
  const [a, b] = [over(behind), over([...behind, view.getComputedStyle(element).color])].map(luminance);
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
}
function scrolls(element) {  // inside a box that may be scrolled by itself
  return element.closest('.scroll, pre') !== null;
}
for (const [name, text] of Object.entries(pages)) for (const width of widths) {
  const frame = document.createElement('iframe');
  frame.style.cssText = `width:${width}px;height:800px;border:0`;
  frame.srcdoc = text;
  frame.onload = () => {
    const doc = frame.contentDocument, view = frame.contentWindow, all = [...doc.body.querySelectorAll('*')];
    const texts = all.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
    found.push({
      name, width, inner: doc.documentElement.clientWidth, whole: doc.documentElement.scrollWidth,
      dark: view.matchMedia('(prefers-color-scheme: dark)').matches,
      page: over([view.getComputedStyle(doc.body).backgroundColor]),
      outside: all.filter(e => !scrolls(e) && e.getBoundingClientRect().right > doc.documentElement.clientWidth + .5)
        .map(e => e.outerHTML.slice(0, 80)),
      least_contrast: Math.min(...texts.map(e => contrast(view, e))),
      pictures: [...doc.images].map(image => [image.naturalWidth, image.getBoundingClientRect().width]),
      verdict_top: doc.querySelector('.leave, .loud')?.getBoundingClientRect().top ?? null,
      requests: view.performance.getEntriesByType('resource').filter(r => !r.name.startsWith('data:')).map(r => r.name),
    });
    if (found.length === Object.keys(pages).length * widths.length)
      document.body.textContent = JSON.stringify(found);
  };
  document.body.append(frame);
}
