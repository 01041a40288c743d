/** The style sheet of a stage, in its shadow tree. Classes of the dialog: its position, entrance, `dark`, and `quiet` without a focus ring. */
export const style = `dialog{--bg:#fff;--ink:#1d2321;--soft:#5b6762;--over:#fffc;box-sizing:border-box;width:min(30rem,calc(100vw - 2rem));max-height:90vh;padding:0;overflow:hidden;border:0;border-radius:.75rem;background:var(--bg);color:var(--ink);font:1rem/1.5 var(--vendor-stage-font,system-ui,sans-serif);box-shadow:0 1rem 3rem #0005}
dialog[open]{display:flex}
dialog::backdrop{background:#0008}
dialog>div{flex:1;padding:2.5rem 2rem 2rem;overflow:auto;overscroll-behavior:contain}
.dark{--bg:#1d2422;--ink:#e9eeec;--soft:#a9b8b3;--over:#1d2422cc;color-scheme:dark}
h2{margin:0 1rem .75rem 0;font-size:1.5rem;line-height:1.2}
p{margin:.5rem 0;white-space:pre-line}
h2,p,li{unicode-bidi:plaintext}
img{max-width:100%;height:auto}
button{font:inherit}
button,[role=button]{cursor:pointer}
.x{position:absolute;top:.5rem;right:.5rem;width:2.75rem;height:2.75rem;border:0;border-radius:50%;background:var(--over);font-size:1.5rem;line-height:1;color:inherit}
.cta{display:inline-block;margin:1rem 0 0;padding:.75rem 1.5rem;border:0;border-radius:.5rem;background:var(--vendor-stage-accent,#1f6f5c);color:var(--vendor-stage-accent-text,#fff);font-weight:600;text-decoration:none}
.never{display:block;margin:1rem 0 0;padding:.25rem 0;border:0;background:0;color:var(--soft);font-size:.875rem;text-decoration:underline}
.pic{display:block;width:calc(100% + 4rem);max-width:none;aspect-ratio:16/9;max-height:35vh;object-fit:cover;margin:-2.5rem -2rem 1.5rem}
.corner,.bar{position:fixed;z-index:2147483647;margin:0}
.corner{inset:auto 1rem 1rem auto;width:min(22rem,calc(100vw - 2rem))}
.sheet,.bar{max-width:none;border-radius:.75rem .75rem 0 0}
.sheet{width:min(40rem,100vw);margin-bottom:0}
.bar{inset:auto 0 0;width:auto;max-height:50vh;border-radius:0}
.bar>div{display:flex;flex-wrap:wrap;align-items:center;justify-content:center;gap:.5rem 1.25rem;padding:.75rem 3.75rem .75rem 1.25rem;text-align:center}
.bar>div>*{margin:0}
.bar h2{font-size:1.125rem}
.bar .pic{width:3.5rem;aspect-ratio:1;border-radius:.5rem}
.bar .cta{padding:.5rem 1.25rem}
:focus-visible{outline:3px solid #2f6fed;outline-offset:2px}
.quiet :focus,dialog:focus{outline:0}
@media(prefers-reduced-motion:no-preference){.fade,.slide,.fade::backdrop,.slide::backdrop{animation:f .25s ease-out}.slide{animation-name:s}}
@keyframes f{from{opacity:0}}
@keyframes s{from{opacity:0;transform:translateY(2rem)}}`
