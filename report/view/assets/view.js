// Follows a run: each event is a new form of the parts of the page, of which those
// that changed are replaced. Nothing in them takes the keyboard's focus.
"use strict";
(() => {
	const address = document.body.dataset.follow;
	if (!address) return;
	const link = document.getElementById("link");
	const source = new EventSource(address);
	source.onopen = () => { link.textContent = ""; };
	source.onerror = () => { link.textContent = "The connection is lost; it is tried again."; };
	source.onmessage = (event) => {
		const parts = new DOMParser().parseFromString(event.data, "text/html").body.children;
		for (const part of parts) {
			const old = document.getElementById(part.id);
			if (old && old.innerHTML !== part.innerHTML) old.innerHTML = part.innerHTML;
		}
	};
	source.addEventListener("end", () => {
		source.close();
		location.reload(); // which leads to the report
	});
})();
